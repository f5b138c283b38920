"""Adam with decoupled weight decay (AdamW).

    m ← β1 m + (1 - β1) g;  v ← β2 v + (1 - β2) g²;  w ← w - rate · (m̂ / (√v̂ + ε) + decay · w)

m̂ and v̂ are corrected for their start at zero. Kingma and Ba, 2014, https://arxiv.org/abs/1412.6980; Loshchilov and
Hutter, Decoupled Weight Decay Regularization, 2017, https://arxiv.org/abs/1711.05101
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from regard.base.errors import ConfigError, check_at_least
from regard.training.optimizer import Optimizer, Optimizers, learned


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    """Every weight moves by its mean gradient, divided by the root mean square of its gradients."""

    l2: float = 0.0
    """an L2 penalty on matrices, added to the gradient: g ← g + l2 · w; published recipes for graphs use it"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("adam", 0, l2=self.l2)
        if self.l2 and self.weight_decay:
            raise ConfigError("adam: set l2 or weight_decay, not both")

    def build(self, model: nn.Module) -> Optimizers:
        return [self.of(learned(model))]

    def of(self, weights: Sequence[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer of some weights; torch's fused implementation is 4 to 6 times as fast as its others."""
        decay = self.l2 or self.weight_decay
        groups = [
            {"params": [weight for weight in weights if weight.dim() > 1], "weight_decay": decay},
            {"params": [weight for weight in weights if weight.dim() <= 1], "weight_decay": 0.0},
        ]
        groups = [group for group in groups if group["params"]]
        kind = torch.optim.Adam if self.l2 else torch.optim.AdamW
        return kind(groups, lr=self.learning_rate, betas=self.betas, eps=self.epsilon, fused=True)
