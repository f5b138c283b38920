"""A trained model of sets: an answer for each set, and which elements it looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.record import attention_layers, record
from regard.base.errors import UsageError
from regard.data.set_examples import Scale, elements_in, padded_sets
from regard.data.set_goals import Goal
from regard.data.vector_files import Vectors, object_in
from regard.decoding.predictor import Answering, Prediction
from regard.models.set_model import SetModel

_AT_ONCE = 256


@dataclass(frozen=True)
class SetPredictor(Answering):
    """What `regard.load` returns for a model of sets."""

    model: SetModel
    goal: Goal
    scale: Scale
    """of the elements"""

    def outputs(self, sets: Sequence[Vectors]) -> Float[Tensor, "sets outputs"]:
        """What the model gives for each set [size, width]; none depends on the others."""
        width, device = len(self.scale.mean), next(self.model.parameters()).device
        for at, one in enumerate(sets):
            if one.ndim != 2 or one.shape[1] != width:
                raise UsageError(f"sets: set {at} must be [size, {width}], but is {list(one.shape)}")
        made = []
        self.model.eval()
        with torch.no_grad():
            for first in range(0, len(sets), _AT_ONCE):
                elements, lengths = padded_sets(sets[first : first + _AT_ONCE], self.scale)
                made.append(self.model(elements.to(device), lengths.to(device)).cpu())
        return torch.cat(made)

    def answers(self, sets: Sequence[Vectors]) -> list[Any]:
        """The answer for each set [size, width]: a number, a class, a mixture."""
        return self.goal.answers(self.outputs(sets)) if sets else []

    def looked_at(self, elements: Vectors) -> Float[Tensor, "heads seeds size"]:
        """The attention weights of the pooling: how much each seed read of each element."""
        names = [name for name in attention_layers(self.model) if name.startswith("pooling")]
        if not names:
            raise UsageError("sets: this model pools without attention; a set_transformer has it")
        padded, lengths = padded_sets([elements], self.scale)
        device = next(self.model.parameters()).device
        with torch.no_grad(), record(self.model.eval(), names[-1]) as seen:
            self.model(padded.to(device), lengths.to(device))
        return seen.only()[0].cpu()

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The answer to each line, a JSON object with `elements`."""
        width = len(self.scale.mean)
        sets = [
            elements_in(object_in(line, f"line {at}"), f"line {at}", width) for at, line in enumerate(lines, start=1)
        ]
        return [Prediction(_shown(answer), {"answer": answer}) for answer in self.answers(sets)]


def _shown(answer: Any) -> str:
    if isinstance(answer, float):
        return f"{answer:.6g}"
    return answer if isinstance(answer, str) else msgspec.json.encode(answer).decode()
