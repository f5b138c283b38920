"""score(q, k) = qᵀk

Luong et al., 2015, https://arxiv.org/abs/1508.04025
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.score import Score


@dataclass(frozen=True)
class Dot(Score):
    """The dot product: large where both point the same way and are long."""

    factored = True

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return query, key, 1.0
