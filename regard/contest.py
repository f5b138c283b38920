"""Train settings in a process of their own, so that their processor time and memory are theirs alone.

A process that has trained before keeps memory, and hands it to the next training: the second of two equal contestants
would seem to need none. Each is therefore trained in a process that was forked from one that has done nothing but
import (a fork server, where the system has them; else a new process).
"""

import json
import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from regard.base.errors import RegardError
from regard.base.files import read_text
from regard.tasks.run import Run, run_of
from regard.tasks.start import train_run
from regard.training.progress import Progress, StepReport

_WARM = 2


@dataclass(frozen=True)
class Cost:
    """What a training cost."""

    each: float
    """processor time of a step, in seconds, without the first ones"""
    mib: float
    """the memory that training added at its peak; 0 where it is not known"""


def train_alone(run: Run, folder: Path, data: Path) -> Cost:
    """Train a run in a process of its own, to the end."""
    kind = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(kind)
    if kind == "forkserver":
        context.set_forkserver_preload(["regard.contest"])
    tables = json.dumps({key: value for key, value in run.to_dict().items() if value is not None}, default=str)
    asked = (tables, run.name, str(folder.resolve()), str(data.resolve()), torch.get_num_threads())
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            told = json.loads(pool.submit(_trained, *asked).result())
        except BrokenProcessPool as error:
            raise RegardError(
                f"{folder}: its training was ended from outside; it may need more memory than there is"
            ) from error
    if "error" in told:
        raise RegardError(told["error"])
    return Cost(**told)


def pace_of(run: Run, folder: Path, data: Path) -> float:
    """Processor time of a step, in seconds, measured over a few in this process."""
    pace = _Pace()
    train_run(run, folder, data, pace)
    return pace.each


def _trained(tables: str, name: str, folder: str, data: str, threads: int) -> str:
    """In the other process: train, and tell the cost as JSON; a mistake in the settings is told as its sentence."""
    torch.set_num_threads(threads)
    pace, base = _Pace(), _reset_peak()
    try:
        train_run(run_of(json.loads(tables), name), Path(folder), Path(data), pace)
    except RegardError as error:
        return json.dumps({"error": str(error)})
    return json.dumps(asdict(Cost(pace.each, max(0.0, _memory("VmHWM") - base))))


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
