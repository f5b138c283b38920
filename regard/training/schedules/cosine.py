"""Linear warm-up, then cosine decay.

Loshchilov and Hutter, SGDR, 2016, https://arxiv.org/abs/1608.03983, equation 5, without restarts
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.base.errors import ConfigError, check_at_least
from regard.training.schedule import Schedule, warm


@dataclass(frozen=True)
class Cosine(Schedule):
    """share(t) = t / warmup at first, then floor + (1 - floor) · (1 + cos(π (t - warmup) / (steps - warmup))) / 2.

    After `steps` it stays at `floor`. Unless set, `steps` is that of the training.
    """

    steps: int | None = None
    """the step at which the learning rate has fallen to `floor`; by default the last of the training"""
    warmup: int = 0
    """warm-up: the steps in which the learning rate rises linearly from 0"""
    floor: float = 0.0
    """the share of the learning rate that is left at the end"""

    def __post_init__(self) -> None:
        check_at_least("cosine", 0, warmup=self.warmup, floor=self.floor)
        if self.steps is not None and self.steps <= self.warmup:
            raise ConfigError(f"cosine: steps ({self.steps}) must be more than warmup ({self.warmup})")

    def over(self, steps: int | None) -> "Cosine":
        if self.steps is not None:
            return self
        if steps is None:
            raise ConfigError("cosine: must know how many steps to fall over; set training.steps or schedule.steps")
        return replace(self, steps=max(steps, self.warmup + 1))

    def remark(self, steps: int | None) -> str | None:
        if self.steps is None and steps is not None and steps <= self.warmup:
            return f"the warm-up ({self.warmup} steps) does not end before training does ({steps} steps)"
        if self.steps is not None and (steps is None or self.steps < steps):
            share = f"{self.floor:g} of its highest" if self.floor else "0"
            meant = "all" if steps is None else f"all {steps}"
            return (
                f"the learning rate is {share} from step {self.steps} on, as training.schedule.steps says; "
                f"without that setting it falls over {meant} steps of the training"
            )
        return None

    def share(self, step: int, scores: Sequence[float]) -> float:
        if self.steps is None:
            raise ConfigError("cosine: must know how many steps to fall over; set steps")
        if step <= self.warmup:
            return warm(step, self.warmup)
        done = min(1.0, (step - self.warmup) / (self.steps - self.warmup))
        return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * done)) / 2
