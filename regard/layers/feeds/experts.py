"""Mixture of experts: y = Σ_{e chosen} g_e(x) E_e(x); a gate routes each position to a few of several feeds.

    p = softmax(W_g x),  chosen = the k largest of p,  g_e = p_e / Σ_{chosen} p

Shazeer et al., 2017, https://arxiv.org/abs/1701.06538; Jiang et al., Mixtral, 2024, https://arxiv.org/abs/2401.04088.
With k = 1 the weight is p_e itself, or the gate would get no gradient: Fedus et al., Switch Transformers, 2022,
https://arxiv.org/abs/2101.03961. Experts have no capacity limit, so that the output of a sentence does not depend on
the rest of its batch.

So that the experts share the work, a training task adds the load-balancing loss of the Switch Transformer, which is 1
when all experts are used alike:

    loss = count · Σ_e f_e P_e,  f_e = the share of choices that fell on e,  P_e = the mean of p_e

    with balance_losses(model) as losses:
        hidden = model.hidden(…)
    total = total + tokens * sum(losses)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.base.errors import ConfigError, check_at_least
from regard.layers.feed import FEEDS, Feed
from regard.layers.initialize import xavier


@dataclass(frozen=True)
class Experts(Feed):
    """A sparsely gated mixture of experts."""

    count: int = 8
    """the number of experts"""
    chosen: int = 2
    """how many experts a position is routed to"""
    expert: Annotated[Any, FEEDS] = "plain"
    """the feed of each expert"""
    balance: float = 0.01
    """the weight of the load-balancing loss"""

    def __post_init__(self) -> None:
        check_at_least("experts", 1, count=self.count, chosen=self.chosen)
        check_at_least("experts", 0, balance=self.balance)
        if self.chosen > self.count:
            raise ConfigError(f"experts: chosen ({self.chosen}) must be at most count ({self.count})")
        object.__setattr__(self, "expert", FEEDS.make(self.expert, "experts.expert"))

    def build(self, width: int, output_width: int | None = None) -> "Mixture":
        return Mixture(self, width, output_width or width)

    def filled(self, **defaults: Any) -> "Experts":
        return replace(self, expert=self.expert.filled(**defaults))


class Gating(NamedTuple):
    """The gate's decision for each position."""

    weights: Float[Tensor, "positions chosen"]
    picked: Int[Tensor, "positions chosen"]
    chances: Float[Tensor, "positions count"]

    def balance_loss(self) -> Float[Tensor, ""]:
        """count · Σ_e f_e P_e over all positions, padding included."""
        count = self.chances.shape[1]
        fallen = torch.bincount(self.picked.flatten(), minlength=count) / max(1, self.picked.numel())
        return count * (fallen * self.chances.mean(0)).sum()


class Gate(nn.Module):
    """The router: p = softmax(W_g x), and the experts with the largest p."""

    def __init__(self, width: int, count: int, chosen: int, balance: float) -> None:
        super().__init__()
        self.map = nn.Linear(width, count, bias=False)
        self.chosen, self.balance = chosen, balance
        xavier(self)

    def forward(self, x: Float[Tensor, "positions width"]) -> Gating:
        """The chosen experts of each position, and their weights."""
        chances = self.map(x).softmax(-1)
        top, picked = chances.topk(self.chosen)
        return Gating(top if self.chosen == 1 else top / top.sum(-1, keepdim=True), picked, chances)


class Mixture(nn.Module):
    """The gate and the experts; an expert computes only the positions that are routed to it."""

    def __init__(self, design: Experts, width: int, output_width: int) -> None:
        super().__init__()
        self.chosen, self.output_width = design.chosen, output_width
        self.gate = Gate(width, design.count, design.chosen, design.balance)
        self.experts = nn.ModuleList(design.expert.build(width, output_width) for _ in range(design.count))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch output_width"]:
        """The formula."""
        flat = x.reshape(-1, x.shape[-1])
        weights, picked, _ = self.gate(flat)
        output = flat.new_zeros(len(flat), self.output_width)
        for number, expert in enumerate(self.experts):
            # also without a position, so that its gradients are zeros rather than missing
            rows, places = (picked == number).nonzero(as_tuple=True)
            made = expert(flat[rows]) * weights[rows, places, None]
            output = output.index_add(0, rows, made.to(output.dtype))
        return output.reshape(*x.shape[:-1], self.output_width)


@contextmanager
def balance_losses(model: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the load-balancing losses of all mixtures called inside, each times its weight, with gradients.

    The list stays empty for a model without experts.
    """
    losses: list[Tensor] = []

    def hook(gate: Gate, inputs: tuple[Any, ...], gating: Gating) -> None:
        losses.append(gate.balance * gating.balance_loss())

    handles = [module.register_forward_hook(hook) for module in model.modules() if isinstance(module, Gate)]
    try:
        yield losses
    finally:
        for handle in handles:
            handle.remove()


def idle_weights(model: nn.Module) -> float:
    """How many weights of expert matrices a position does not use, on average."""
    idle = 0.0
    for module in model.modules():
        if isinstance(module, Mixture):
            entries = sum(weight.numel() for weight in module.experts.parameters() if weight.dim() > 1)
            idle += entries * (1 - module.chosen / len(module.experts))
    return idle
