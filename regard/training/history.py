"""The validation scores of a run so far: they decide on the best checkpoint, early stopping and averaging."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.base.errors import RegardError, unknown


@dataclass(frozen=True)
class ValidationPoint:
    """One validation: its step and its score (higher is better)."""

    step: int
    score: float


@dataclass(frozen=True)
class History:
    """All validations, in order."""

    points: tuple[ValidationPoint, ...] = ()

    @property
    def scores(self) -> tuple[float, ...]:
        """The validation scores, in order."""
        return tuple(point.score for point in self.points)

    @property
    def best(self) -> ValidationPoint | None:
        """The best validation; among equals, the first."""
        return max(self.points, key=lambda point: point.score, default=None)

    @property
    def stale(self) -> int:
        """How many validations have followed the best one: what early stopping compares with its patience."""
        return len(self.points) - 1 - self.points.index(self.best) if self.best else 0

    def add(self, step: int, score: float) -> "History":
        """The history with one more validation."""
        return History((*self.points, ValidationPoint(step, score)))

    def top(self, count: int) -> list[int]:
        """The steps of the `count` best validations, in order; among equals, the earlier ones."""
        ranked = sorted(self.points, key=lambda point: (-point.score, point.step))
        return sorted(point.step for point in ranked[:count])

    def last(self, count: int) -> list[int]:
        """The steps of the last `count` validations."""
        return [point.step for point in self.points[-count:]]

    def to_list(self) -> list[list[float]]:
        """The history as JSON values."""
        return [[point.step, point.score] for point in self.points]

    @classmethod
    def from_list(cls, rows: Sequence[Sequence[Any]]) -> "History":
        """The history that `to_list` gave."""
        return cls(tuple(ValidationPoint(int(step), float(score)) for step, score in rows))


def score_of(metrics: Mapping[str, float], metric: str, lower: Collection[str]) -> float:
    """The value of the deciding metric, negated if lower is better; NaN counts as the worst."""
    if metric not in metrics:
        raise RegardError(unknown("training.metric", metric, metrics, "the metrics of this validation"))
    value = float(metrics[metric])
    if value != value:
        return float("-inf")
    return -value if metric in lower else value
