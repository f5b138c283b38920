"""What a trainer tells whoever watches it."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """One step: `loss` is the mean for each token, or whatever `unit` counts; times are those of this machine."""

    step: int
    steps: int | None
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    unit: str
    per_second: float
    seconds_left: float | None


class Progress:
    """Someone who watches; this one is silent but for warnings. Override what is of interest."""

    def resumed(self, step: int) -> None:
        """Training goes on after this step, 0 for a new run."""

    def stepped(self, report: StepReport) -> None:
        """A step was made."""

    def validated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        """The model was tried; `improved` says that it never did better."""

    def say(self, text: str) -> None:
        """What is being done, or was."""

    def note(self, text: str) -> None:
        """Something that a person should know."""
        warnings.warn(text, stacklevel=2)


class Pace:
    """How fast it goes: a mean that forgets, over the time spent in steps alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, memory: float = 0.95) -> None:
        self._clock, self._memory = clock, memory
        self._weight = self._seconds = self._count = 0.0
        self._since = clock()

    def resume(self) -> None:
        """No time passed since the last step: what happened in between is not counted."""
        self._since = self._clock()

    def tick(self, count: int) -> None:
        """A step was made, with so many tokens."""
        now = self._clock()
        self._weight = self._memory * self._weight + 1
        self._seconds = self._memory * self._seconds + now - self._since
        self._count = self._memory * self._count + count
        self._since = now

    @property
    def per_second(self) -> float:
        """The tokens of a second, 0 before the first step."""
        return self._count / self._seconds if self._seconds else 0.0

    @property
    def seconds_per_step(self) -> float:
        """How long a step takes."""
        return self._seconds / self._weight if self._weight else 0.0
