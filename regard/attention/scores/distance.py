"""score(q, k) = -‖q - k‖² / (2 reach²)

Under a softmax this is Nadaraya-Watson regression with a Gaussian kernel. It is a dot product in disguise:
-‖q - k‖²/2 = [q; -‖q‖²/2; 1]ᵀ [k; 1; -‖k‖²/2].
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.score import Score
from regard.base.errors import ConfigError


@dataclass(frozen=True)
class Distance(Score):
    """The negative squared distance between query and key; `reach` is the width of the Gaussian kernel."""

    reach: float = 1.0
    """the width of the Gaussian kernel: the distance at which weights fall off"""
    factored = True

    def __post_init__(self) -> None:
        if self.reach <= 0:
            raise ConfigError(f"distance: reach must be above 0, but is {self.reach}")

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        apart = query.unsqueeze(-2) - key.unsqueeze(-3)
        return apart.square().sum(-1) * (-0.5 / self.reach**2)

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return _extend(query, first=True), _extend(key, first=False), self.reach**-2

    def floats_per_pair(self, width: int) -> int:
        return 2 * width


def _extend(vectors: Tensor, *, first: bool) -> Tensor:
    norm = vectors.square().sum(-1, keepdim=True) * -0.5
    one = torch.ones_like(norm)
    return torch.cat([vectors, norm, one] if first else [vectors, one, norm], dim=-1)
