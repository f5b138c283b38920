"""score(q, k) = φ(q)ᵀ φ(k), with positive features φ

`elu`: φ(x) = elu(x) + 1, Katharopoulos et al., 2020, https://arxiv.org/abs/2006.16236
`relu`: φ(x) = max(x, 0) + 10⁻³, Choromanski et al., 2021, https://arxiv.org/abs/2009.14794
`exponential`: φ(x) = exp(ωᵀx' - ‖x'‖²/2) / √m for m random ω, with x' = x / d^¼, so that the expectation of
φ(q)ᵀφ(k) is exp(qᵀk/√d): softmax attention without its pairs (FAVOR+, the same paper). The kernel is unbiased; the
ratio of two such sums, which attention reads, is not, and only comes near the softmax as m grows.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.part import Sizes
from regard.attention.score import Score
from regard.base.chance import random_seed
from regard.base.errors import ConfigError, check_at_least, check_one_of

FEATURES = ("elu", "relu", "exponential")
DIRECTIONS = ("orthogonal", "independent")


@dataclass(frozen=True)
class Kernel(Score):
    """A dot product of positive features: never negative, so the ratio normalizer and linear attention apply."""

    features: Literal["elu", "relu", "exponential"] = "elu"
    """elu: elu(x) + 1; relu: max(x, 0); exponential: random features of the softmax (Performer)"""
    draws: int = 256
    """random directions of the exponential features"""
    seed: int = 0
    """the seed of the random directions"""
    directions: Literal["orthogonal", "independent"] = "orthogonal"
    """orthogonal: the directions of each group of as many as a head is wide stand at right angles, which lowers the
    variance; independent: each is drawn by itself"""
    redraw: Literal["never", "step"] = "never"
    """step: each training step draws other directions, so that the model does not learn to rely on some; those of
    `seed` are used otherwise"""
    factored = True
    positive = True

    def __post_init__(self) -> None:
        check_at_least("kernel", 1, draws=self.draws)
        check_one_of("kernel", FEATURES, features=self.features)
        check_one_of("kernel", DIRECTIONS, directions=self.directions)
        check_one_of("kernel", ("never", "step"), redraw=self.redraw)
        if self.redraw != "never" and self.features != "exponential":
            raise ConfigError(
                f"kernel: redraw='{self.redraw}' is for random features, but those of {self.features} are fixed; "
                "use features='exponential', or leave redraw out"
            )

    def build(self, sizes: Sizes) -> Score:
        return self if self.redraw == "never" else RedrawnKernel(self)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return self.lift(query) @ self.lift(key).mT

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return self.lift(query), self.lift(key), 1.0

    def lift(self, vectors: Tensor) -> Tensor:
        """φ."""
        if self.features == "elu":
            lifted: Tensor = _EluPlusOne.apply(vectors)
            return lifted
        if self.features == "relu":
            return F.relu(vectors) + 1e-3
        return self.lift_along(vectors, _fixed(vectors.shape[-1], self.draws, self.seed, self.directions))

    def lift_along(self, vectors: Tensor, directions: Tensor) -> Tensor:
        """The exponential φ with these directions, [width, draws]."""
        scale = float(vectors.shape[-1]) ** -0.25
        # Added, not subtracted: the gradient of a difference is negated feature by feature.
        lowered = vectors.square().sum(-1, keepdim=True) * (-(scale**2) / 2) - math.log(self.draws) / 2
        return (vectors @ (directions * scale).to(vectors)).add_(lowered).exp_()


class RedrawnKernel(nn.Module, Score):
    """A kernel with other random directions at each call in training, the same for queries and keys."""

    factored = True
    positive = True

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.kernel = kernel

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        left, right, _ = self.factors(query, key)
        return left @ right.mT

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        if not self.training:
            return self.kernel.factors(query, key)
        generator: Any = torch.Generator().manual_seed(random_seed())
        drawn = _draw(query.shape[-1], self.kernel.draws, generator, self.kernel.directions)
        return self.kernel.lift_along(query, drawn), self.kernel.lift_along(key, drawn), 1.0


class _EluPlusOne(torch.autograd.Function):
    """elu(x) + 1 = max(x, 0) + exp(min(x, 0)), whose slope is min(elu(x) + 1, 1)."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor) -> Tensor:
        lifted = vectors.clamp(max=0).exp_().add_(vectors.clamp(min=0))
        ctx.save_for_backward(lifted)
        return lifted

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (lifted,) = ctx.saved_tensors
        return lifted.clamp(max=1).mul_(gradient)


@cache
def _fixed(width: int, draws: int, seed: int, directions: str) -> Tensor:
    return _draw(width, draws, torch.Generator().manual_seed(seed), directions)


def _draw(width: int, draws: int, generator: torch.Generator, directions: str) -> Tensor:
    """Gaussian directions, [width, draws]."""
    if directions == "independent":
        return torch.randn(width, draws, generator=generator, dtype=torch.float64)
    groups = []
    for _ in range(-(-draws // width)):
        gaussian = torch.randn(width, width, generator=generator, dtype=torch.float64)
        lengths = torch.randn(width, width, generator=generator, dtype=torch.float64).norm(dim=1)
        basis, triangle = torch.linalg.qr(gaussian)
        groups.append(basis * triangle.diagonal().sign() * lengths)  # without the signs some directions never come
    return torch.cat(groups, dim=1)[:, :draws]
