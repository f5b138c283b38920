"""How gradients change the weights: Adam with decoupled weight decay.

    m ← β1 m + (1 - β1) g;  v ← β2 v + (1 - β2) g²;  w ← w - rate · (m̂ / (√v̂ + ε) + decay · w)

m̂ and v̂ are corrected for their start at zero. Kingma and Ba, 2014, https://arxiv.org/abs/1412.6980; Loshchilov and
Hutter, Decoupled Weight Decay Regularization, 2017, https://arxiv.org/abs/1711.05101
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.base.errors import ConfigError, RegardError, check_at_least


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Settings of the optimizer. `learning_rate` is the highest; the schedule says which share of it a step gets."""

    learning_rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.98)
    epsilon: float = 1e-9
    weight_decay: float = 0.0
    """of matrices; biases and norms, which have one axis, do not decay"""

    def __post_init__(self) -> None:
        check_at_least("optimizer", 0, weight_decay=self.weight_decay, epsilon=self.epsilon)
        if self.learning_rate <= 0:
            raise ConfigError(f"optimizer: learning_rate must be more than 0, but is {self.learning_rate}")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ConfigError(f"optimizer: betas must be at least 0 and below 1, but are {self.betas}")

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer of a model's weights; one fused pass over them, 4 to 6 times as fast as torch's other ways."""
        learned = [weight for weight in model.parameters() if weight.requires_grad]
        groups = [
            {"params": [weight for weight in learned if weight.dim() > 1], "weight_decay": self.weight_decay},
            {"params": [weight for weight in learned if weight.dim() <= 1], "weight_decay": 0.0},
        ]
        groups = [group for group in groups if group["params"]]
        if not groups:
            raise RegardError("optimizer: the model has no weights to learn")
        return torch.optim.AdamW(groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=True)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this learning rate from now on."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def moments(optimizer: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """What the optimizer remembers of each weight, as `exp_avg/decoder.weight` and so on."""
    return {
        f"{kind}/{name}": tensor
        for name, weight in model.named_parameters()
        for kind, tensor in optimizer.state.get(weight, {}).items()
    }


def restore_moments(optimizer: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Make the optimizer remember what `moments` gave."""
    weights = dict(model.named_parameters())
    for key, tensor in tensors.items():
        kind, _, name = key.partition("/")
        optimizer.state[weights[name]][kind] = tensor.to(weights[name].device, copy=True)
