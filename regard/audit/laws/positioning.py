"""absolute: f(x, positions + s) ≠ f(x, positions) for some s; relative: = for every s; and order matters in both"""

from dataclasses import dataclass

import torch

from regard.audit.example import Example
from regard.audit.law import Law, difference, unequal
from regard.audit.subject import Subject, at_positions

_LEAST = {torch.float64: 1e-12, torch.float32: 1e-6}
"""smaller changes, relative to the largest number, are rounding errors"""


@dataclass(frozen=True)
class Positioning(Law):
    """It responds to positions as it claims: order matters, and a shift of all positions only if they are absolute."""

    question = "Does it respond to positions as it claims?"
    masks = "none"

    def exemption(self, subject: Subject) -> str | None:
        return "it claims no positions: see permutation" if subject.claims.positions == "none" else None

    def breach(self, subject: Subject, example: Example) -> str | None:
        if example.keys < 3:
            return None
        inputs = subject.inputs(example, example.generator())
        whole = subject(inputs, None)
        order = [1, 0, *range(2, example.keys)]
        swapped = subject(at_positions(inputs, subject.columns, lambda value: value[..., order, :]), None)
        moved = difference(swapped[..., 2:, :], whole[..., 2:, :])
        if moved <= _LEAST[subject.precision]:
            return "two earlier positions change places, and nothing changes behind them"
        shifted = subject.shifted(inputs, 3)
        if shifted is None:
            return None
        if subject.claims.positions == "relative":
            return unequal(subject, shifted, whole, "counted from 3 instead of 0, though its positions are relative")
        if difference(shifted, whole) <= _LEAST[subject.precision]:
            return "counted from 3 instead of 0, nothing changes, though its positions are absolute"
        return None
