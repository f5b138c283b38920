"""A score compares a query with a key: the higher the logit, the larger the attention weight of that key."""

from jaxtyping import Float
from torch import Tensor

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

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        """query', key' and scale of a factored score."""
        raise self.unbuilt()

    def floats_per_pair(self, width: int) -> int:
        """How many numbers `forward` stores per pair; it decides the block size."""
        return 1
