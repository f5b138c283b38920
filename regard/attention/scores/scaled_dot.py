"""score(q, k) = qᵀk / √d

The division keeps the variance of the logits at 1 when queries and keys have variance 1 in each of d dimensions.
Vaswani et al., 2017, https://arxiv.org/abs/1706.03762
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.score import Score


@dataclass(frozen=True)
class ScaledDot(Score):
    """The dot product times `scale`, by default 1/√width."""

    scale: float | None = None
    """the factor of the dot product; by default 1/√width"""
    factored = True

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.mT * self._scale(query)

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return query, key, self._scale(query)

    def _scale(self, query: Tensor) -> float:
        return query.shape[-1] ** -0.5 if self.scale is None else self.scale
