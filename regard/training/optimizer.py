"""Optimizers: one or several of torch's, each with weights of its own."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor, nn

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, RegardError, check_at_least

OPTIMIZERS = Catalog("regard.training.optimizers", default="adam")

Optimizers = Sequence[torch.optim.Optimizer]


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """Settings of an optimizer. `learning_rate` is the peak; the learning-rate schedule scales it at every step."""

    learning_rate: float = 1e-3
    """the peak of the learning rate, which the schedule scales"""
    betas: tuple[float, float] = (0.9, 0.98)
    """the decay rates of the running means of the gradient and of its square"""
    epsilon: float = 1e-9
    """is added to the root mean square, so that it is never divided by 0"""
    weight_decay: float = 0.0
    """weight decay, which applies to matrices; biases and norms do not decay"""

    def __post_init__(self) -> None:
        check_at_least("optimizer", 0, weight_decay=self.weight_decay, epsilon=self.epsilon)
        if not 0 < self.learning_rate < inf:
            raise ConfigError(f"optimizer: learning_rate must be more than 0, and finite, but is {self.learning_rate}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"optimizer: betas must be at least 0 and below 1, but are {self.betas}")

    @abstractmethod
    def build(self, model: nn.Module) -> Optimizers:
        """Make the optimizers of a model's weights."""


def learned(model: nn.Module) -> list[nn.Parameter]:
    """The trainable weights of a model."""
    found = [weight for weight in model.parameters() if weight.requires_grad]
    if not found:
        raise RegardError("optimizer: the model has no weights to learn")
    return found


def set_rate(optimizers: Optimizers, rate: float) -> None:
    """Set the learning rate; a group that has a share of it gets that."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group.get("share", 1.0)


def take_step(optimizers: Optimizers) -> None:
    """Update the weights by their gradients, then clear the gradients."""
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad()


def moments(optimizers: Optimizers, model: nn.Module) -> dict[str, Tensor]:
    """The optimizer state of each weight, named `exp_avg/decoder.weight` and so on."""
    return {
        f"{kind}/{name}": tensor
        for name, weight in model.named_parameters()
        for optimizer in optimizers
        for kind, tensor in optimizer.state.get(weight, {}).items()
    }


def restore_moments(optimizers: Optimizers, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Restore the optimizer state that `moments` gave."""
    weights, owners = dict(model.named_parameters()), owners_of(optimizers)
    for key, tensor in tensors.items():
        kind, _, name = key.partition("/")
        weight = weights[name]
        owners[weight].state[weight][kind] = tensor.to(weight.device, copy=True)


def owners_of(optimizers: Optimizers) -> dict[Tensor, torch.optim.Optimizer]:
    """The optimizer of each weight."""
    return {
        weight: optimizer for optimizer in optimizers for group in optimizer.param_groups for weight in group["params"]
    }
