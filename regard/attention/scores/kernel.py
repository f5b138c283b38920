"""score(q, k) = φ(q)ᵀ φ(k), with positive features φ

`elu`: φ(x) = elu(x) + 1, Katharopoulos et al., 2020, https://arxiv.org/abs/2006.16236
`relu`: φ(x) = max(x, 0) + 10⁻³, Choromanski et al., 2021, https://arxiv.org/abs/2009.14794
`exponential`: φ(x) = exp(ωᵀx' - ‖x'‖²/2) / √m for m random ω, with x' = x / d^¼, so that the expectation of
φ(q)ᵀφ(k) is exp(qᵀk/√d): softmax attention without its pairs (the same paper).
"""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.score import Score
from regard.base.errors import check_at_least, check_one_of

FEATURES = ("elu", "relu", "exponential")


@dataclass(frozen=True)
class Kernel(Score):
    """A dot product of positive features: never negative, so the ratio normalizer and linear attention apply."""

    features: Literal["elu", "relu", "exponential"] = "elu"
    """elu: elu(x) + 1; relu: max(x, 0); exponential: random features of the softmax (Performer)"""
    draws: int = 256
    """random directions of the exponential features"""
    seed: int = 0
    """the seed of the random directions"""
    factored = True
    positive = True

    def __post_init__(self) -> None:
        check_at_least("kernel", 1, draws=self.draws)
        check_one_of("kernel", FEATURES, features=self.features)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.lift(query) @ self.lift(key).mT

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return self.lift(query), self.lift(key), 1.0

    def lift(self, vectors: Tensor) -> Tensor:
        """φ."""
        if self.features == "elu":
            return F.elu(vectors) + 1
        if self.features == "relu":
            return F.relu(vectors) + 1e-3
        width = vectors.shape[-1]
        vectors = vectors * width**-0.25
        directions = _directions(width, self.draws, self.seed).to(vectors)
        return (vectors @ directions - vectors.square().sum(-1, keepdim=True) / 2).exp() * self.draws**-0.5


@cache
def _directions(width: int, draws: int, seed: int) -> Tensor:
    """Gaussian directions, orthogonal within each group of `width` (which lowers the variance), [width, draws]."""
    generator = torch.Generator().manual_seed(seed)
    groups = []
    for _ in range(-(-draws // width)):
        gaussian = torch.randn(width, width, generator=generator, dtype=torch.float64)
        lengths = torch.randn(width, width, generator=generator, dtype=torch.float64).norm(dim=1)
        basis, triangle = torch.linalg.qr(gaussian)
        groups.append(basis * triangle.diagonal().sign() * lengths)  # without the signs some directions never come
    return torch.cat(groups, dim=1)[:, :draws]
