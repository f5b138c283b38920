"""T5's relative position bias for the packed decoder: computed once for all distances, then only looked up."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.positions.buckets import BucketTable

_LEAST = 64


class BucketBias:
    """The bias of each head at every distance so far; the table grows with the text."""

    def __init__(self, table: BucketTable) -> None:
        self._table = table
        self._flipped = table.weight[:, :0]
        """[heads, distances], the farthest first, so that the pairs of one text in order are a slice of it"""

    def whole(self, length: int) -> Float[Tensor, "1 heads length length"]:
        """The bias of every pair of positions, for an encoder."""
        at = torch.arange(length, device=self._table.weight.device)
        return self._table.weight[:, self._table.layout.bucket(at - at[:, None])][None]

    def newest(self, length: int) -> Float[Tensor, "1 heads 1 length"]:
        """The bias of a query at the end of a text of this length: keys come in the order of the text."""
        return self._until(length)[None, :, None, -length:]

    def between(
        self, query_at: Int[Tensor, "queries"], key_at: Int[Tensor, "sentences keys"]
    ) -> Float[Tensor, "sentences heads queries keys"]:
        """The bias of these pairs; a key ahead of its query, which nobody sees, counts as one beside it."""
        back = (query_at[:, None] - key_at[:, None]).clamp(min=0)
        flipped = self._until(int(query_at[-1]) + 1)
        return flipped[:, flipped.shape[1] - 1 - back].transpose(0, 1)

    def _until(self, length: int) -> Float[Tensor, "heads distances"]:
        if self._flipped.shape[1] < length:
            back = torch.arange(max(_LEAST, 2 * length), device=self._table.weight.device)
            self._flipped = self._table.weight[:, self._table.layout.bucket(-back)].flip(1).contiguous()
        return self._flipped
