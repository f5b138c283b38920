"""Progress reports of a trainer: callbacks for steps, validations and notes, and the training speed."""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """One training step; `loss` is the mean per token, or per whatever `unit` counts."""

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
    """Callbacks of the trainer. This class prints only warnings; override the methods of interest.

    >>> class Losses(Progress):
    ...     def stepped(self, report):
    ...         losses.append(report.loss)
    >>> train("run.toml", progress=Losses())
    """

    def resumed(self, step: int) -> None:
        """Training resumes after this step; 0 for a new run."""

    def stepped(self, report: StepReport) -> None:
        """A training step is done."""

    def validated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        """The model was validated; `improved` says that this is the best score so far."""

    def say(self, text: str) -> None:
        """An informative message."""

    def note(self, text: str) -> None:
        """A warning."""
        warnings.warn(text, stacklevel=2)


class Silent(Progress):
    """Prints nothing at all: the progress of ranks other than rank 0, which speaks for all."""

    def note(self, text: str) -> None:
        return


class StepWork:
    """Processor time of training steps, without validations: the mean since it was last asked for."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._seconds, self._steps = 0.0, 0
        self._since = clock()

    def resume(self) -> None:
        """Restart the clock: the time since the last step is not counted."""
        self._since = self._clock()

    def tick(self) -> None:
        """Count a step."""
        now = self._clock()
        self._seconds, self._steps, self._since = self._seconds + now - self._since, self._steps + 1, now

    def taken(self) -> float:
        """Seconds per step since the last call."""
        mean = self._seconds / max(1, self._steps)
        self._seconds, self._steps = 0.0, 0
        return mean


class Pace:
    """Training speed: an exponential moving average over the time spent in steps."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, memory: float = 0.95) -> None:
        self._clock, self._memory = clock, memory
        self._weight = self._seconds = self._count = 0.0
        self._since = clock()

    def resume(self) -> None:
        """Restart the clock: the time since the last step is not counted."""
        self._since = self._clock()

    def tick(self, count: int) -> None:
        """Count a step of `count` tokens."""
        now = self._clock()
        self._weight = self._memory * self._weight + 1
        self._seconds = self._memory * self._seconds + now - self._since
        self._count = self._memory * self._count + count
        self._since = now

    @property
    def per_second(self) -> float:
        """Tokens per second; 0 before the first step."""
        return self._count / self._seconds if self._seconds else 0.0

    @property
    def seconds_per_step(self) -> float:
        """The mean duration of a step."""
        return self._seconds / self._weight if self._weight else 0.0
