"""Training progress for people, on standard error: loss, speed, time left, and every validation."""

import sys
from collections.abc import Mapping
from typing import Any, Self

from regard.training.progress import Progress, StepReport


class Watch(Progress):
    """Training progress: a bar on a terminal; elsewhere one line per validation."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._last: StepReport | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            text = TextColumn("{task.description}")
            self._bar = Bar(
                text, BarColumn(bar_width=24), TextColumn("{task.fields[speed]}"), console=Console(stderr=True)
            )
            self._bar.start()
            self._task = self._bar.add_task("training", total=None, speed="")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def resumed(self, step: int) -> None:
        if step:
            self.say(f"resumes after step {step:,}")

    def stepped(self, report: StepReport) -> None:
        self._last = report
        if self._bar is not None:
            left = "" if report.seconds_left is None else f"   {_time(report.seconds_left)} left"
            self._bar.update(
                self._task,
                completed=report.step,
                total=report.steps,
                description=f"step {report.step:,}  epoch {report.epoch + 1}  loss {report.loss:.3f}",
                speed=f"{report.per_second:,.0f} {report.unit}/s{left}",
            )

    def validated(self, step: int, metrics: Mapping[str, float], improved: bool) -> None:
        numbers = "  ".join(f"{name} {value:.3f}" for name, value in metrics.items())
        speed = f"  {self._last.per_second:,.0f} {self._last.unit}/s" if self._last else ""
        self.say(f"step {step:>7,}  {numbers}{speed}{'  ← best' if improved else ''}")

    def note(self, text: str) -> None:
        self.say(f"regard: {text}")

    def say(self, text: str) -> None:
        """Print a line that stays above the bar."""
        if self._bar is not None:
            self._bar.console.print(text, markup=False, highlight=False)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
