"""Where a training stands: all that it needs in order to go on as if it had never stopped.

Weights and the optimizer's moments are tensors; the rest is a small value. There is no state of random numbers among
it: those of a step follow from the seed and the step's number.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn

from regard.data.plan import BatchPosition
from regard.runs.artifact import load_weights, split_ties
from regard.training.history import History


@dataclass(frozen=True, kw_only=True)
class TrainingState:
    """After so many steps: the next item's position, what was seen, and what the next log entry sums up."""

    step: int = 0
    position: BatchPosition = field(default_factory=BatchPosition)
    seen: int = 0
    """tokens, or whatever the task counts, since the beginning"""
    lines: int = 0
    """of the log"""
    counted: int = 0
    """tokens since the last log entry"""
    sums: Mapping[str, float] = field(default_factory=dict)
    """over those tokens: the loss and its parts"""
    validated: int = 0
    """the step after which the model was last validated"""
    history: History = field(default_factory=History)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"history": self.history.to_list(), "sums": dict(self.sums)}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """What `to_dict` gave, now or before losses had parts."""
        position, history = BatchPosition(**table["position"]), History.from_list(table["history"])
        values = dict(table) | {"position": position, "history": history}
        if "likelihood" in values:
            values["sums"] = {name: values.pop(name) for name in ("loss", "likelihood")}
            values["seen"] = values.pop("tokens")
        return cls(**values)


def seed_of(*numbers: int) -> int:
    """A seed for the random numbers of, say, a step of a run: unlike those of all other steps and runs."""
    return int.from_bytes(hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()[:8]) >> 1


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """The model's weights, tied ones once."""
    return split_ties(model.state_dict())[0]


def with_ties(model: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights that are given once, under all the names that the model has for them."""
    tied = split_ties(model.state_dict())[1]
    return dict(weights) | {name: weights[first] for name, first in tied.items() if first in weights}


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], name: str) -> None:
    """Copy what `model_weights` gave into the model."""
    with torch.no_grad():
        load_weights(model, with_ties(model, weights), name)
