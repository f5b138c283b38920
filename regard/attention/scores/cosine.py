"""score(q, k) = sharpness · qᵀk / (‖q‖ ‖k‖)

Graves et al., Neural Turing Machines, 2014, https://arxiv.org/abs/1410.5401
"""

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from regard.attention.score import Score


@dataclass(frozen=True)
class Cosine(Score):
    """The cosine of the angle between query and key, whatever their lengths."""

    sharpness: float = 1.0
    """the factor of the cosine: higher values give more pointed weights"""
    factored = True

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        query, key, sharpness = self.factors(query, key)
        return query @ key.mT * sharpness

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return F.normalize(query, dim=-1), F.normalize(key, dim=-1), self.sharpness
