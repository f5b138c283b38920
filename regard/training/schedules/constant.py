"""Constant learning rate after a linear warm-up."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.base.errors import check_at_least
from regard.training.schedule import Schedule, warm


@dataclass(frozen=True)
class Constant(Schedule):
    """share(t) = min(1, t / warmup)."""

    warmup: int = 0
    """warm-up: the steps in which the learning rate rises linearly from 0"""

    def __post_init__(self) -> None:
        check_at_least("constant", 0, warmup=self.warmup)

    def share(self, step: int, scores: Sequence[float]) -> float:
        return warm(step, self.warmup)
