"""Trainings by the command line, with one thread, and the CPU time that they take."""

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

REGARD = [sys.executable, "-m", "regard"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def advise_and_train(
    data: Path, runs: Path, name: str, init: Sequence[str | Path] = (), changes: Sequence[str] = ()
) -> float:
    """Write a run file by `regard init` and train it; the run is `runs / name`. Gives the CPU minutes of this call.

    `init` are further options of `regard init`, `changes` settings as `--set` takes them.
    """
    settings = runs.parent / f"{name}.toml"
    advise = [*REGARD, "init", data, *init, "--name", name, "--out", settings, "--force"]
    subprocess.run(advise, env=ENVIRONMENT, check=True)
    return train(settings, runs, changes)


def train(settings: Path, runs: Path, changes: Sequence[str] = ()) -> float:
    """Train a run file, or resume it; gives the CPU minutes of this call."""
    sets = [word for change in ("training.lanes=1", *changes) for word in ("--set", change)]
    before = _children()
    subprocess.run([*REGARD, "train", settings, "--runs", runs, *sets], env=ENVIRONMENT, check=True)
    return (_children() - before) / 60


def _children() -> float:
    """The CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
