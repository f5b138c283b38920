"""Train or evaluate in a process of its own, so that the processor time and memory are its own alone.

A process that has trained before keeps memory, and hands it to the next training: the second of two equal contestants
would seem to need none. Each therefore has a process that was forked from one that has done nothing but import torch (a
fork server, where the system has them; else a new process).
"""

import json
import math
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from regard.base.errors import RegardError, UsageError
from regard.base.files import read_text
from regard.loading import load_task
from regard.metrics.quality import QualityScore
from regard.metrics.significance import Judged
from regard.tasks.run import Run, run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.progress import Progress, StepReport

_Told = TypeVar("_Told")

_WARM = 2
_BRIEF, _AGAIN = 0.5, 3
"""an evaluation of less than so many seconds is timed again so often, and the shortest time counts"""


@dataclass(frozen=True)
class Cost:
    """What a training cost."""

    each: float
    """processor time of a step, in seconds, without the first ones"""
    mib: float
    """the memory that training added at its peak; 0 where it is not known"""


@dataclass(frozen=True)
class Measured:
    """What a model did on a test set, and what it cost."""

    scores: tuple[QualityScore, ...]
    judged: Judged | None
    """its outputs with their references, of a task that writes text"""
    count: int
    """how many examples it worked on; 0 where the task does not tell"""
    what: str
    """what they are, in the plural"""
    seconds: float
    """the processor time of the model's own work"""
    mib: float
    """the memory that opening and evaluating the model added at its peak; 0 where it is not known"""


def train_alone(run: Run, folder: Path, data: Path) -> Cost:
    """Train a run in a process of its own, to the end."""
    tables = json.dumps({key: value for key, value in run.to_dict().items() if value is not None}, default=str)
    asked = (tables, run.name, str(folder.resolve()), str(data.resolve()))
    return _in_own_process(_trained, f"{folder}: its training", asked)


def evaluate_alone(model: Path, files: Sequence[Path], how: Mapping[str, Any], **opening: Any) -> Measured:
    """Open a model and evaluate it on files, if there are any, in a process of its own.

    `how` has fields of `Evaluation`, whose functions another process must find by their names; `opening` is given to
    `load_task`.
    """
    return _in_own_process(_evaluated, f"{model}: its evaluation", (model, tuple(files), dict(how), opening))


def _in_own_process(work: Callable[..., _Told], what: str, asked: tuple[Any, ...]) -> _Told:
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(kind)
    if kind == "forkserver":
        context.set_forkserver_preload(["torch"])  # not regard: models that a script adds are to be found
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            told, refused = pool.submit(_guarded, work, torch.get_num_threads(), asked).result()
        except BrokenProcessPool as error:
            raise RegardError(
                f"{what} was ended from outside; it may need more memory than there is, or a script of yours that "
                "compares lacks if __name__ == '__main__'"
            ) from error
    if told is None:
        sentence, of_usage = refused
        raise (UsageError if of_usage else RegardError)(sentence)
    return told


def pace_of(run: Run, folder: Path, data: Path) -> float:
    """Processor time of a step, in seconds, measured over a few in this process."""
    pace = _Pace()
    train_run(run, folder, data, pace)
    return pace.each


def _guarded(work: Callable[..., _Told], threads: int, asked: tuple[Any, ...]) -> tuple[_Told | None, tuple[str, bool]]:
    """In the other process: what the work gives, or the sentence of a mistake and whether it is one of usage."""
    torch.set_num_threads(threads)
    try:
        return work(*asked), ("", False)
    except RegardError as error:
        return None, (str(error), isinstance(error, UsageError))


def _trained(tables: str, name: str, folder: str, data: str) -> Cost:
    pace, base = _Pace(), _reset_peak()
    train_run(run_of(json.loads(tables), name), Path(folder), Path(data), pace)
    return Cost(pace.each, max(0.0, _memory("VmHWM") - base))


def _evaluated(model: Path, files: tuple[Path, ...], how: dict[str, Any], opening: dict[str, Any]) -> Measured:
    base, judged = _reset_peak(), list[Judged]()
    watch = _Watch(time.process_time if opening.get("device", "cpu") == "cpu" else time.perf_counter)
    task, opened = load_task(model, **opening)
    asked = Evaluation(**how, judged=judged.append, measured=watch.measured)
    scores = tuple(task.evaluate(opened, files, asked)) if files else ()
    peak = max(0.0, _memory("VmHWM") - base)
    for _ in range(_AGAIN if 0 < watch.seconds < _BRIEF else 0):  # the first call of anything is slow
        again = _Watch(watch.clock)
        task.evaluate(opened, files, replace(asked, judged=bool, measured=again.measured))
        watch = min(watch, again, key=lambda one: one.seconds)
    return Measured(scores, judged[0] if judged else None, watch.count, watch.what, watch.seconds, peak)


class _Watch:
    """Sums up the time of a model's own work."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.seconds, self.count, self.what = 0.0, 0, ""

    @contextmanager
    def measured(self, count: int, what: str) -> Iterator[None]:
        """Count the examples and the time."""
        began = self.clock()
        yield
        self.seconds, self.count, self.what = self.seconds + self.clock() - began, self.count + count, what


class _Pace(Progress):
    """Measures the processor time of a step, without the first ones."""

    def __init__(self) -> None:
        self._times: list[float] = []

    def stepped(self, report: StepReport) -> None:
        self._times.append(time.process_time())

    @property
    def each(self) -> float:
        """Seconds per step."""
        times = self._times[min(_WARM, len(self._times) - 2) :] if len(self._times) > 1 else [0.0, 0.0]
        return (times[-1] - times[0]) / max(1, len(times) - 1)


def _reset_peak() -> float:
    """Forget the process's peak memory, where Linux lets us; returns the memory now, in MiB."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return math.inf
    return _memory("VmRSS")


def _memory(key: str) -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in read_text(status).splitlines() if line.startswith(key))
