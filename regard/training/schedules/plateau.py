"""Reduce the learning rate by a factor when the validation score stops improving."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.base.errors import ConfigError, check_at_least
from regard.training.schedule import Schedule, warm


@dataclass(frozen=True)
class Plateau(Schedule):
    """share(t) = min(1, t / warmup) · max(floor, factor^k), where k counts the reductions.

    A reduction follows `patience` validations in a row without a new best score; then counting starts again.
    """

    factor: float = 0.5
    """what the learning rate is multiplied by at a reduction"""
    patience: int = 3
    """how many validations in a row without a new best score lead to a reduction"""
    warmup: int = 0
    """warm-up: the steps in which the learning rate rises linearly from 0"""
    floor: float = 0.0
    """the share of the learning rate below which it is not reduced"""

    def __post_init__(self) -> None:
        check_at_least("plateau", 0, warmup=self.warmup, floor=self.floor)
        check_at_least("plateau", 1, patience=self.patience)
        if not 0 < self.factor < 1:
            raise ConfigError(f"plateau: factor must be between 0 and 1, but is {self.factor}")

    def share(self, step: int, scores: Sequence[float]) -> float:
        return warm(step, self.warmup) * max(self.floor, self.factor ** self._failures(scores))

    def _failures(self, scores: Sequence[float]) -> int:
        best, waited, failures = float("-inf"), 0, 0
        for score in scores:
            best, waited = (score, 0) if score > best else (best, waited + 1)
            if waited == self.patience:
                failures, waited = failures + 1, 0
        return failures
