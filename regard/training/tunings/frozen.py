"""The features stay as they are, and a head on top of them learns; dropout inside the features is off."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from regard.training.tuning import Tuning, fix_all_but_head


@dataclass(frozen=True)
class Frozen(Tuning):
    """Only the head learns."""

    fixes_features: ClassVar[bool] = True

    def prepare(self, model: nn.Module, new: Collection[str]) -> None:
        fix_all_but_head(model, new, "frozen")
        for part in model.children():
            if not any(weight.requires_grad for weight in part.parameters()):
                part.register_forward_pre_hook(_evaluate)


def _evaluate(module: nn.Module, given: Any) -> None:
    """Compute as in evaluation, whatever the trainer sets."""
    module.eval()
