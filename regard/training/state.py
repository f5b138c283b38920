"""The training state that a checkpoint holds: all that is needed to resume as if training had never stopped.

Weights and the optimizer's moments are tensors; the rest is a small value. It holds no state of a random generator:
the random numbers of a step follow from the seed and the step's number.
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
    """The state after `step` steps: position in the data, counts, validation history, sums for the next log entry."""

    step: int = 0
    position: BatchPosition = field(default_factory=BatchPosition)
    seen: int = 0
    """tokens (or other units of the task) since the beginning"""
    lines: int = 0
    """the number of lines in the log"""
    counted: int = 0
    """tokens since the last log entry"""
    sums: Mapping[str, float] = field(default_factory=dict)
    """the loss and its parts, summed over those tokens"""
    validated: int = 0
    """the step after which the model was last validated"""
    history: History = field(default_factory=History)

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON values."""
        return asdict(self) | {"history": self.history.to_list(), "sums": dict(self.sums)}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """The state that `to_dict` gave, in this format or the one before losses had parts."""
        position, history = BatchPosition(**table["position"]), History.from_list(table["history"])
        values = dict(table) | {"position": position, "history": history}
        if "likelihood" in values:
            values["sums"] = {name: values.pop(name) for name in ("loss", "likelihood")}
            values["seen"] = values.pop("tokens")
        return cls(**values)


def seed_of(*numbers: int) -> int:
    """A seed that follows from the given numbers, such as a run's seed and a step."""
    return int.from_bytes(hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()[:8]) >> 1


def model_weights(model: nn.Module) -> dict[str, Tensor]:
    """The model's weights; tied weights appear once."""
    return split_ties(model.state_dict())[0]


def with_ties(model: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The given weights, with tied weights under all of their names."""
    tied = split_ties(model.state_dict())[1]
    return dict(weights) | {name: weights[first] for name, first in tied.items() if first in weights}


def set_weights(model: nn.Module, weights: Mapping[str, Tensor], name: str) -> None:
    """Copy the weights that `model_weights` gave into the model."""
    with torch.no_grad():
        load_weights(model, with_ties(model, weights), name)
