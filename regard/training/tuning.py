"""Fine-tuning: which weights of a trained model learn further, and how fast.

The members of `tunings/` are the choices of `training.tuning`: all weights, a head alone, or low-rank adapters.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from torch import nn

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError
from regard.training.optimizer import Optimizers

TUNINGS = Catalog("regard.training.tunings")
_HEADS = ("head.", "output.")


class Tuning(ABC):
    """How a model that is trained already goes on learning."""

    fixes_features: ClassVar[bool] = False
    """whether the features of an input are the same at every step"""

    @abstractmethod
    def prepare(self, model: nn.Module, new: Collection[str]) -> None:
        """Change the model in place: fix weights, or add adapters; `new` names the weights that are not trained yet."""

    def rates(self, model: nn.Module, new: Collection[str]) -> Mapping[nn.Parameter, float]:
        """The share of the learning rate that a weight learns with, where it is not 1."""
        return {}


def is_head(name: str, new: Collection[str]) -> bool:
    """Whether a weight is one of the head: what the task adds to the features."""
    return name in new or name.startswith(_HEADS)


def fix_all_but_head(model: nn.Module, new: Collection[str], tuning: str) -> None:
    """Let the weights of the head learn, and no others."""
    learning = [name for name, _ in model.named_parameters() if is_head(name, new)]
    if not learning:
        raise ConfigError(f"training.tuning: {tuning} needs a head that learns, which a {type(model).__name__} lacks")
    for name, weight in model.named_parameters():
        weight.requires_grad_(name in learning)


def scale_rates(optimizers: Optimizers, rates: Mapping[nn.Parameter, float]) -> None:
    """Split the groups of optimizers, so that each weight learns with its share of the learning rate."""
    if not rates:
        return
    owned = {weight for optimizer in optimizers for group in optimizer.param_groups for weight in group["params"]}
    if not {weight for weight in rates if weight.requires_grad} <= owned:
        raise ConfigError("training.tuning: rates by layer do not go with weights that are sharded over ranks")
    for optimizer in optimizers:
        groups: list[dict[str, Any]] = []
        for group in optimizer.param_groups:
            for share in dict.fromkeys(rates.get(weight, 1.0) for weight in group["params"]):
                own = [weight for weight in group["params"] if rates.get(weight, 1.0) == share]
                groups.append({**group, "params": own, "share": share})
        optimizer.param_groups[:] = groups
