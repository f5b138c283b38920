"""Linear warm-up, then cosine decay.

Loshchilov and Hutter, SGDR, 2016, https://arxiv.org/abs/1608.03983, equation 5, without restarts
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.base.errors import ConfigError, check_at_least
from regard.training.schedule import Schedule, warm


@dataclass(frozen=True)
class Cosine(Schedule):
    """share(t) = t / warmup at first, then floor + (1 - floor) · (1 + cos(π (t - warmup) / (steps - warmup))) / 2.

    After `steps` it stays at `floor`.
    """

    steps: int
    warmup: int = 0
    floor: float = 0.0

    def __post_init__(self) -> None:
        check_at_least("cosine", 0, warmup=self.warmup, floor=self.floor)
        if self.steps <= self.warmup:
            raise ConfigError(f"cosine: steps ({self.steps}) must be more than warmup ({self.warmup})")

    def share(self, step: int, scores: Sequence[float]) -> float:
        if step <= self.warmup:
            return warm(step, self.warmup)
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2
