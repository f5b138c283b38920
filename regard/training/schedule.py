"""Learning-rate schedules: pure functions of the step and the validation scores, so that checkpoints need no state."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from regard.base.catalog import Catalog

SCHEDULES = Catalog("regard.training.schedules")


class Schedule(ABC):
    """A learning-rate schedule: the share of the peak learning rate at every step."""

    def over(self, steps: int | None) -> "Schedule":
        """The schedule of a training of so many steps, None where their number is open."""
        return self

    def remark(self, steps: int | None) -> str | None:
        """What is odd about this schedule in a training of so many steps, or None."""
        return None

    @abstractmethod
    def share(self, step: int, scores: Sequence[float]) -> float:
        """The factor of the peak learning rate at a step, counted from 1.

        `scores` are those of all validations so far, in order; higher is better.
        """


def warm(step: int, warmup: int) -> float:
    """Linear warm-up from 0 to 1."""
    return min(1.0, step / warmup) if warmup else 1.0
