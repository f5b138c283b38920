"""How the learning rate changes: a pure function of the step and of the validations so far, so that nothing of it has
to be remembered in order to resume.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from regard.base.catalog import Catalog

SCHEDULES = Catalog("regard.training.schedules")


class Schedule(ABC):
    """A share of the highest learning rate for every step."""

    @abstractmethod
    def share(self, step: int, scores: Sequence[float]) -> float:
        """What the learning rate of a step, counted from 1, is multiplied by.

        `scores` are those of all validations so far, in order; a greater one is better.
        """


def warm(step: int, warmup: int) -> float:
    """From nothing to 1, in equal steps."""
    return min(1.0, step / warmup) if warmup else 1.0
