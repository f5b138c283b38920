"""The KV cache of the packed decoder: hypotheses of a sentence share it, and beam search never copies it."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

_ROOM = 16


class Shelf:
    """A KV cache with spare capacity. States share it until two write to the same place (copy on write)."""

    def __init__(
        self,
        pairs: Float[Tensor, "layers 2 sentences heads room width"],
        filled: int = 0,
        places: Int[Tensor, "sentences room"] | None = None,
    ) -> None:
        self.pairs, self.filled = pairs, filled
        self.places = pairs.new_empty(pairs.shape[2], pairs.shape[4], dtype=torch.long) if places is None else places
        """the position of each pair in its text, where the writer notes it"""

    @classmethod
    def empty(cls, like: Tensor, layers: int, sentences: int, heads: int, width: int) -> "Shelf":
        """An empty cache."""
        return cls(like.new_empty(layers, 2, sentences, heads, _ROOM, width))

    def room_for(self, more: int, seen: Tensor) -> "tuple[Shelf, Tensor]":
        """A cache with capacity for more pairs, and its mask: this one, if it has room and nobody else wrote to it.

        Otherwise, a larger one takes over the pairs that some hypothesis still sees. Since most hypotheses of a
        sentence soon share their past, that is little more than one pair per position.
        """
        filled = seen.shape[2]
        if self.filled == filled and filled + more <= self.pairs.shape[4]:
            self.filled = filled + more
            return self, seen
        needed = (seen == 0).any(1)
        count = int(needed.sum(1).max()) if filled else 0
        order = needed.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :count]
        *outer, room, width = self.pairs.shape
        wider = self.pairs.new_empty(*outer, count + more + max(_ROOM, count // 2), width)
        first = torch.arange(0, self.pairs.numel() // width, room, device=order.device).view(*outer, 1)
        where = (first + order[:, None]).flatten()
        wider[..., :count, :] = self.pairs.view(-1, width).index_select(0, where).view(*outer, count, width)
        places = order.new_empty(len(order), wider.shape[4])
        places[:, :count] = self.places.gather(1, order)
        return Shelf(wider, count + more, places), seen.gather(2, order[:, None].expand(-1, seen.shape[1], -1))

    def pick(self, sentences: Tensor, filled: int) -> "Shelf":
        """A cache with the pairs of some sentences."""
        return Shelf(self.pairs.index_select(2, sentences), filled, self.places.index_select(0, sentences))
