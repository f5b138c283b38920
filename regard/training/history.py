"""The validation scores of a run so far: they decide on the best checkpoint, early stopping and averaging.

A metric that counts whole successes, such as exact match or BLEU, can stay 0 for long while a model learns. So the
loss decides between equal scores: a validation is better if its score is higher, or equal at a lower loss.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regard.base.errors import RegardError, unknown

Rank = tuple[float, float]
"""What validations are compared by: the score, then the tie-breaker; higher is better in both."""


@dataclass(frozen=True)
class ValidationPoint:
    """One validation: its step, its score (higher is better), and the tie-breaker between equal scores."""

    step: int
    score: float
    tie: float = 0.0

    @property
    def rank(self) -> Rank:
        """What validations are compared by."""
        return self.score, self.tie


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
        return max(self.points, key=lambda point: (*point.rank, point.step), default=None)

    @property
    def stale(self) -> int:
        """How many validations brought nothing better: what early stopping compares with its patience.

        They are counted from the first of the best rank: an equal score is progress only if the tie-breaker rises.
        """
        ranks = [point.rank for point in self.points]
        return len(ranks) - 1 - ranks.index(max(ranks)) if ranks else 0

    def add(self, step: int, score: float, tie: float = 0.0) -> "History":
        """The history with one more validation."""
        return History((*self.points, ValidationPoint(step, score, tie)))

    def around(self, count: int) -> list[int]:
        """The steps of the best validation and its neighbors, `count` in a row; the better side grows first.

        A step that is left out is never taken in after more validations, unless it is among the `last(count - 1)`.
        """
        if self.best is None:
            return []
        ranks = [point.rank for point in self.points]
        first = last = self.points.index(self.best)
        while last - first + 1 < min(count, len(ranks)):
            before = ranks[first - 1] if first else None
            after = ranks[last + 1] if last + 1 < len(ranks) else None
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
        return [[point.step, point.score, point.tie] for point in self.points]

    @classmethod
    def from_list(cls, rows: Sequence[Sequence[Any]]) -> "History":
        """The history that `to_list` gave; older ones have no tie-breakers."""
        return cls(tuple(ValidationPoint(int(step), *map(float, numbers)) for step, *numbers in rows))


def score_of(metrics: Mapping[str, float], metric: str, lower: Collection[str]) -> float:
    """The value of the deciding metric, negated if lower is better; NaN counts as the worst."""
    if metric not in metrics:
        raise RegardError(unknown("training.metric", metric, metrics, "the metrics of this validation"))
    value = float(metrics[metric])
    if value != value:
        return float("-inf")
    return -value if metric in lower else value


def rank_of(metrics: Mapping[str, float], metric: str, lower: Collection[str]) -> Rank:
    """The score by the deciding metric, and the loss, where there is one, as the tie-breaker."""
    return score_of(metrics, metric, lower), score_of(metrics, "loss", {"loss"}) if "loss" in metrics else 0.0
