"""Runs of the toy corpus whose data is prepared, for tests of tasks."""

from pathlib import Path
from typing import Any

from regard.tasks.run import Run, read_run
from regard.tasks.start import Started
from regard.tasks.task import Say
from tests.apps.running import SMALL, SMALL_LM


def settings(home: Path, name: str = "run.toml", **changes: object) -> Run:
    small = SMALL if name == "run.toml" else SMALL_LM
    chosen = small | {key.replace("__", "."): value for key, value in changes.items()}
    return read_run(home / name, [f"{key}={value}" for key, value in chosen.items()])


def prepare(run: Run, folder: Path, home: Path, say: Say = lambda text: None) -> Any:
    folder.mkdir(exist_ok=True)
    return Started(run, run.task.prepare(folder, home, say))
