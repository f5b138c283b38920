"""‖f(x in bfloat16) − f(x)‖∞ / ‖f(x)‖∞, where x is rounded to bfloat16 in both"""

from dataclasses import dataclass

import torch

from regard.audit.example import Example
from regard.audit.law import Law, difference
from regard.audit.subject import Subject
from regard.base import processor

_FAR = 0.1
_SIZES = Example(batch=2, queries=6, keys=6)


@dataclass(frozen=True)
class LowPrecision(Law):
    """In bfloat16 (mixed precision) the output stays within a tenth of the largest number; the distance is told."""

    question = "How far is bfloat16?"
    masks = "none"

    def exemption(self, subject: Subject) -> str | None:
        reason = processor.refusal("bfloat16")
        return None if reason is None else f"bfloat16 products do not work here: {reason}"

    def breach(self, subject: Subject, example: Example) -> str | None:
        apart = _distance(subject, example)
        return f"it is {apart:.1e} of the largest number away" if not apart <= _FAR else None

    def figure(self, subject: Subject) -> str:
        """The distance on an example of six positions."""
        return f"{_distance(subject, _SIZES):.1e} of the largest number away"


def _distance(subject: Subject, example: Example) -> float:
    low = subject.to(torch.bfloat16)
    inputs = {name: value.to(torch.bfloat16) for name, value in subject.inputs(example, example.generator()).items()}
    with torch.no_grad():
        found = low(inputs, None)
        right = low.to(subject.precision)({name: value.to(subject.precision) for name, value in inputs.items()}, None)
    return difference(found, right)
