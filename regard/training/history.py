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
        """The best validation; among equals, the last, whose weights have learned more."""
        return max(self.points, key=lambda point: (point.score, point.step), default=None)

    @property
    def stale(self) -> int:
        """How many validations brought nothing better: what early stopping compares with its patience.

        They are counted from the first with the best score, so that an equal score is no progress.
        """
        return len(self.points) - 1 - self.scores.index(max(self.scores)) if self.points else 0

    def add(self, step: int, score: float) -> "History":
        """The history with one more validation."""
        return History((*self.points, ValidationPoint(step, score)))

    def around(self, count: int) -> list[int]:
        """The steps of the best validation and its neighbors, `count` in a row; the better side grows first.

        A step that is left out is never taken in after more validations, unless it is among the `last(count - 1)`.
        """
        if self.best is None:
            return []
        scores = self.scores
        first = last = self.points.index(self.best)
        while last - first + 1 < min(count, len(scores)):
            before = scores[first - 1] if first else None
            after = scores[last + 1] if last + 1 < len(scores) else None
            if before is None or (after is not None and after >= before):
                last += 1
            else:
                first -= 1
        return [point.step for point in self.points[first : last + 1]]

    def last(self, count: int) -> list[int]:
        """The steps of the last `count` validations."""
        return [point.step for point in self.points[max(0, len(self.points) - count) :]]

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
