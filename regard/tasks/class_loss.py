"""The loss of classification: cross-entropy, and how far two readings of an example may differ by dropout (R-Drop).

    loss = ½ (H(y, p₁) + H(y, p₂)) + c · ½ (KL(p₁ ‖ p₂) + KL(p₂ ‖ p₁))

p₁ and p₂ are what the model says of the same example with two draws of dropout, and c is `consistency`. Liang et al.,
R-Drop: Regularized Dropout for Neural Networks, 2021, https://arxiv.org/abs/2106.14448, whose α is 2 c.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.base.errors import ConfigError, check_one_of

_UNSEEN = -100
ClassWeights = Literal["even", "balanced"]


@dataclass(frozen=True, kw_only=True)
class ClassLoss:
    """The loss of classification: cross-entropy, or binary cross-entropy of each class where there may be several."""

    smoothing: float = 0.0
    """label smoothing, where an example has one label"""
    weights: ClassWeights = "even"
    """balanced: rare classes count more, each example by examples / (classes · examples of its class)"""
    consistency: float = 0.0
    """R-Drop: how much it counts that two readings of an example, with different dropout, disagree; above 0, a step
    takes twice the time"""

    def __post_init__(self) -> None:
        check_one_of("loss", get_args(ClassWeights), weights=self.weights)
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"loss: smoothing must be at least 0 and below 1, but is {self.smoothing}")
        if not 0 <= self.consistency < inf:
            raise ConfigError(f"loss: consistency must be at least 0, and finite, but is {self.consistency}")

    def read(
        self, answer: Callable[[], Float[Tensor, "batch classes"]], labels: Tensor, *, learning: bool
    ) -> tuple[Float[Tensor, "batch"], Float[Tensor, "batch classes"]]:
        """The loss of each example, and its logits, which `answer` gives: a model that learns may be asked twice.

        Labels are the number of a class, or a row of 0 and 1 with a place for each class. Classes that the model does
        not have cost nothing.
        """
        logits = answer()
        each = self._cross_entropy(logits, labels)
        if not learning or not self.consistency:
            return each, logits
        again = answer()
        mean = (each + self._cross_entropy(again, labels)) / 2
        return mean + self.consistency * disagreement(logits, again, several=labels.dim() == 2), logits

    def _cross_entropy(self, logits: Tensor, labels: Tensor) -> Tensor:
        classes = logits.shape[1]
        if labels.dim() == 2:
            wanted = labels[:, :classes].to(logits)
            return F.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(1)
        known = labels.masked_fill(labels >= classes, _UNSEEN)
        how: Any = {"reduction": "none", "label_smoothing": self.smoothing, "ignore_index": _UNSEEN}
        return F.cross_entropy(logits, known, **how)


def disagreement(
    logits: Float[Tensor, "batch classes"], others: Float[Tensor, "batch classes"], *, several: bool
) -> Float[Tensor, "batch"]:
    """½ (KL(p ‖ q) + KL(q ‖ p)) of each example; with several labels, the sum over its classes, each yes or no."""
    if several:  # the log-odds are what differs: (σ(a) - σ(b)) (a - b) / 2
        return ((logits.sigmoid() - others.sigmoid()) * (logits - others)).sum(1) / 2
    apart = logits.log_softmax(-1) - others.log_softmax(-1)
    return ((logits.softmax(-1) - others.softmax(-1)) * apart).sum(1) / 2


def learns(model: torch.nn.Module) -> bool:
    """Whether the model is being trained, so that dropout draws."""
    return model.training and torch.is_grad_enabled()
