"""Muon: orthogonalized momentum. Every singular direction of a matrix gets a step of the same size.

    M ← μ M + (1 - μ) G;  U S Vᵀ = μ M + (1 - μ) G;  W ← W - rate · (0.2 √max(rows, columns) · U Vᵀ + decay · W)

U Vᵀ is approximated by the Newton–Schulz iteration, X ← a X + b (X Xᵀ) X + c (X Xᵀ)² X from X = G / |G|, which brings
every singular value to 0.7 … 1.2 in five rounds of matrix products. A convolution is a matrix from all that it sees at
one place to its channels. The factor 0.2 √max gives steps the size of Adam's, so that one learning rate serves both.
Jordan et al., 2024, https://kellerjordan.github.io/posts/muon; Liu et al., Muon is Scalable for LLM Training, 2025,
https://arxiv.org/abs/2502.16982
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.projections import Projections
from regard.attention.score import Score
from regard.base.errors import ConfigError
from regard.layers.patching import PatchEmbedding
from regard.training.optimizer import Optimizer, Optimizers, learned
from regard.training.optimizers.adam import Adam
from regard.training.sharded_tensor import like_rows, own_rows, set_rows, whole_tensor

ROUNDS = 5
A, B, C = 3.4445, -4.7750, 2.0315
SIZE = 0.2
"""the root mean square of Adam's steps in practice"""


@dataclass(frozen=True, kw_only=True)
class Muon(Optimizer):
    """Muon for linear layers, convolutions and scores inside a model, Adam for embeddings, output, biases and norms."""

    momentum: float = 0.95
    """the share of the last update's direction that is kept"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.momentum < 1:
            raise ConfigError(f"optimizer: momentum must be at least 0 and below 1, but is {self.momentum}")

    def build(self, model: nn.Module) -> Optimizers:
        all_weights = learned(model)
        inside = {weight: rows for weight, rows in maps_inside(model) if weight.requires_grad}
        rest = [weight for weight in all_weights if weight not in inside]
        adam = Adam(
            learning_rate=self.learning_rate,
            betas=self.betas,
            epsilon=self.epsilon,
            weight_decay=self.weight_decay,
        )
        turning = [_Turning(inside, self.learning_rate, self.momentum, self.weight_decay)] if inside else []
        return [*turning, *([adam.of(rest)] if rest else [])]


def maps_inside(model: nn.Module) -> Iterator[tuple[Tensor, Sequence[int]]]:
    """The matrices between embeddings and output; for stacked layers, the rows of each."""
    ends = {part.weight for part in model.modules() if isinstance(part, nn.Embedding)}
    ends |= {part.projection.weight for part in model.modules() if isinstance(part, PatchEmbedding)}
    with suppress(ConfigError):  # a model whose head has no vocabulary says so
        output = getattr(model, "output", None)
        ends |= {output.weight} if isinstance(output, nn.Linear) else set()
    stacked: dict[Tensor, Sequence[int]] = {}
    for part in model.modules():
        if isinstance(part, Projections):
            stacked |= {part.joint.weight: part.split} if part.is_joint else {part.source.weight: part.split[1:]}
        elif isinstance(part, nn.RNNBase):
            names = (name for name, _ in part.named_parameters() if name.startswith("weight"))
            stacked |= {weight: _gates(weight, part.hidden_size) for weight in map(part.get_parameter, names)}
        elif isinstance(part, Score):  # a matrix for each head
            maps = (weight for weight in part.parameters(recurse=False) if weight.ndim == 3)
            stacked |= {weight: [weight.shape[1]] * len(weight) for weight in maps}
        elif isinstance(part, nn.Linear) or _mixes_channels(part):
            stacked.setdefault(part.weight, [len(part.weight)])
    return ((weight, rows) for weight, rows in stacked.items() if weight not in ends)


def _mixes_channels(part: nn.Module) -> TypeGuard[nn.Conv1d | nn.Conv2d]:
    """Whether it is a convolution of all channels with a kernel of its own: one by weight normalization has none."""
    is_convolution = isinstance(part, nn.Conv1d | nn.Conv2d) and part.groups == 1
    return is_convolution and isinstance(part.weight, nn.Parameter)


def _gates(weight: Tensor, width: int) -> list[int]:
    return [width] * (len(weight) // width)


class _Turning(torch.optim.Optimizer):
    """Muon steps, batched by matrix shape. torch.optim.Muon computes in bfloat16, which few CPUs have."""

    def __init__(self, rows: dict[Tensor, Sequence[int]], rate: float, momentum: float, weight_decay: float) -> None:
        self._rows = rows
        super().__init__(list(rows), {"lr": rate, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
            gathered: list[tuple[Tensor, Tensor]] = []
            for own, direction in self._maps(group, gathered):
                shapes[own.shape].append((own, direction))
            for (_, longer), maps in shapes.items():
                turned = orthogonal(torch.stack([direction for _, direction in maps]))
                for (own, _), step in zip(maps, turned, strict=True):
                    own.mul_(1 - group["lr"] * group["weight_decay"])
                    own.add_(step, alpha=-group["lr"] * SIZE * sqrt(longer))
            for weight, whole in gathered:
                set_rows(weight, whole)

    def _maps(self, group: Mapping[str, Any], gathered: list[tuple[Tensor, Tensor]]) -> Iterator[tuple[Tensor, Tensor]]:
        """Each matrix and the direction of its step, transposed if it has more rows than columns.

        Weights that ranks share are gathered, because a matrix is turned as a whole; each then keeps its own rows.
        """
        for weight in group["params"]:
            if weight.grad is not None:
                rows, whole = self._rows[weight], whole_tensor(weight)
                if whole is not weight:
                    gathered.append((weight, whole))
                ahead = whole_tensor(self._ahead(weight, weight.grad, group["momentum"]))
                whole, ahead = whole.view(sum(rows), -1), ahead.reshape(sum(rows), -1)
                for own, direction in zip(whole.split(rows), ahead.split(rows), strict=True):
                    yield (own, direction) if len(own) <= own.shape[1] else (own.mT, direction.mT)

    def _ahead(self, weight: Tensor, gradient: Tensor, momentum: float) -> Tensor:
        """Nesterov momentum: the mean of past gradients, with the last one counted once more."""
        state = self.state[weight]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(weight)
        mean, new = own_rows(state["momentum"]), own_rows(gradient)
        mean.lerp_(new, 1 - momentum)
        return like_rows(gradient, new.lerp(mean, momentum))


def orthogonal(x: Float[Tensor, "matrices rows columns"]) -> Float[Tensor, "matrices rows columns"]:
    """Approximates U Vᵀ of each matrix U S Vᵀ, which has at most as many rows as columns."""
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=B, alpha=C), x, beta=A)
    return x
