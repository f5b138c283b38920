"""The validations of a run so far, and what follows from them: which was best, whether to stop, what to average."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.base.errors import RegardError, unknown


@dataclass(frozen=True)
class ValidationPoint:
    """One validation: the step after which it was made, and its score, of which more is better."""

    step: int
    score: float


@dataclass(frozen=True)
class History:
    """All validations, in order."""

    points: tuple[ValidationPoint, ...] = ()

    @property
    def scores(self) -> tuple[float, ...]:
        """Their scores."""
        return tuple(point.score for point in self.points)

    @property
    def best(self) -> ValidationPoint | None:
        """The best; of equals, the first."""
        return max(self.points, key=lambda point: point.score, default=None)

    @property
    def stale(self) -> int:
        """How many validations there were after the best."""
        return len(self.points) - 1 - self.points.index(self.best) if self.best else 0

    def add(self, step: int, score: float) -> "History":
        """The history with one more validation."""
        return History((*self.points, ValidationPoint(step, score)))

    def top(self, count: int) -> list[int]:
        """The steps of the best validations, in the order of steps; of equals, the earlier."""
        ranked = sorted(self.points, key=lambda point: (-point.score, point.step))
        return sorted(point.step for point in ranked[:count])

    def last(self, count: int) -> list[int]:
        """The steps of the latest validations."""
        return [point.step for point in self.points[-count:]]

    def to_list(self) -> list[list[float]]:
        """As JSON has it."""
        return [[point.step, point.score] for point in self.points]

    @classmethod
    def from_list(cls, rows: Sequence[Sequence[Any]]) -> "History":
        """What `to_list` gave."""
        return cls(tuple(ValidationPoint(int(step), float(score)) for step, score in rows))


def score_of(metrics: Mapping[str, float], metric: str, lower: Collection[str]) -> float:
    """The metric that decides, with its sign changed if it is one of `lower`; what is not a number is the worst."""
    if metric not in metrics:
        raise RegardError(unknown("training.metric", metric, metrics, "the metrics of this validation"))
    value = float(metrics[metric])
    if value != value:
        return float("-inf")
    return -value if metric in lower else value
