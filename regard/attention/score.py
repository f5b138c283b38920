"""A score compares a query with a key: the higher the logit, the larger the attention weight of that key."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.edge_sums import dot_products
from regard.attention.part import Part
from regard.base.catalog import Catalog

SCORES = Catalog("regard.attention.scores")


class Score(Part):
    """logits[i, j] = score(query[i], key[j])."""

    factored: bool = False
    """whether the logits are scale * query' @ key'.T; `factors` gives the three"""
    positive: bool = False
    """whether no logit is ever negative"""
    equal_widths: bool = True
    """whether queries and keys must have the same width"""

    def __call__(
        self, query: Float[Tensor, "batch heads query width"], key: Float[Tensor, "batch heads key key_width"]
    ) -> Float[Tensor, "batch heads query key"]:
        """The logits of every query with every key."""
        return self.forward(query, key)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """The formula; this is what a new score writes."""
        raise self.unbuilt()

    def along(
        self,
        query: Float[Tensor, "batch heads query width"],
        key: Float[Tensor, "batch heads key key_width"],
        rows: Int[Tensor, "pairs"],
        columns: Int[Tensor, "pairs"],
    ) -> Float[Tensor, "batch heads pairs"]:
        """The logits of some pairs only: of query rows[n] with key columns[n]."""
        if self.factored:
            left, right, scale = self.factors(query, key)
            return scale * _dots(left, right, rows, columns)
        picked = (side[:, :, at].transpose(1, 2).flatten(0, 1) for side, at in ((query, rows), (key, columns)))
        logits = self.forward(*(side.unsqueeze(-2) for side in picked))  # each pair as a batch entry of its own
        return logits[..., 0, 0].unflatten(0, (len(query), -1)).transpose(1, 2)

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        """query', key' and scale of a factored score."""
        raise self.unbuilt()

    def floats_per_pair(self, width: int) -> int:
        """How many numbers `forward` stores per pair; it decides the block size."""
        return 1


def _dots(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The dot products of pairs, one graph of the batch after the other."""
    sides = zip(*(side.transpose(1, 2) for side in (left, right)), strict=True)
    return torch.stack([dot_products(one, other, rows, columns).T for one, other in sides])
