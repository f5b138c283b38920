"""The run folder: settings, log, checkpoints, curves and model of one run; a lock lets one training at a time write.

runs/NAME/run.toml              the resolved settings
runs/NAME/log.jsonl             the log: training and validation metrics
runs/NAME/checkpoints/          checkpoints to resume from
runs/NAME/snapshots/            the weights at the best validations
runs/NAME/curves.png            the training curves
runs/NAME/model.safetensors     the trained model
"""

import os
import shutil
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError, UsageError
from regard.base.files import read_text, unwritable, write_text
from regard.runs.checkpoint import Checkpoints
from regard.runs.log import Log

if sys.platform != "win32":
    import fcntl

_UNSET = "not set"


@dataclass(frozen=True)
class RunFolder:
    """The paths of a run's files."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved settings."""
        return self.path / "run.toml"

    @property
    def log(self) -> Log:
        """The log of metrics."""
        return Log(self.path / "log.jsonl")

    @property
    def checkpoints(self) -> Checkpoints:
        """The checkpoints to resume from."""
        return Checkpoints(self.path / "checkpoints")

    @property
    def snapshots(self) -> Checkpoints:
        """Weights at the validations that may be averaged into the model."""
        return Checkpoints(self.path / "snapshots")

    @property
    def curves(self) -> Path:
        """The image of the training curves."""
        return self.path / "curves.png"

    @property
    def model(self) -> Path:
        """The file of the trained model."""
        return self.path / "model.safetensors"


@contextmanager
def open_run(path: str | Path, config: str, free: Collection[str] = ()) -> Iterator[RunFolder]:
    """Open the folder of the run with these settings (as TOML), create it if needed, and lock it for this process.

    A folder with other settings raises an error, unless only those named in `free` differ, such as `training.steps` or
    the whole table `decoding`; these take their new values.
    """
    folder = RunFolder(Path(path))
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder.path, error) from error
    with _locked(folder.path):
        _clear(folder)
        if folder.config.exists():
            _refuse_other_settings(folder, config, free)
        if not folder.config.exists() or read_text(folder.config) != config:
            write_text(folder.config, config)
        yield folder


def _clear(folder: RunFolder) -> None:
    """Delete the temporary files and folders of a writer that was killed; nobody else writes here under the lock."""
    for place in (folder.path, folder.checkpoints.folder, folder.snapshots.folder):
        for unfinished in place.glob(".*.tmp"):
            try:
                if unfinished.is_dir() and not unfinished.is_symlink():
                    shutil.rmtree(unfinished)
                else:
                    unfinished.unlink(missing_ok=True)
            except OSError as error:
                raise unwritable(unfinished, error) from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file; the system releases it when the process ends, so that no stale lock remains."""
    if sys.platform == "win32":
        yield
        return
    file = path / "lock"
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise unwritable(file, error) from error
    try:
        _take(handle, path)
        yield
    finally:
        os.close(handle)


def _take(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(handle, 32).decode().strip()
        raise RegardError(
            f"{path}: another training (process {owner}) is writing this run; wait for it or choose another name"
        ) from error
    try:
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
    except OSError as error:
        raise unwritable(path / "lock", error) from error


def _refuse_other_settings(folder: RunFolder, config: str, free: Collection[str]) -> None:
    try:
        before = tomllib.loads(read_text(folder.config))
    except tomllib.TOMLDecodeError as error:
        raise RegardError(f"{folder.config}: not valid TOML: {error}; delete the folder to start anew") from error
    for setting, old, new in _differences(before, tomllib.loads(config)):
        if not any(setting == name or setting.startswith(f"{name}.") for name in free):
            raise RegardError(
                f"{folder.path}: this run was made with other settings: {setting} was {old}, and is now {new}; "
                f"set it back, choose another name, or delete the folder to start anew"
            )


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], where: str = "") -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys([*new, *old]):
        path, before, after = f"{where}{name}", old.get(name, _UNSET), new.get(name, _UNSET)
        if isinstance(before, dict) or isinstance(after, dict):
            before, after = ({} if value is _UNSET else value for value in (before, after))
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _differences(before, after, f"{path}.")
        elif before != after:
            yield path, _spell(before), _spell(after)


def _spell(value: Any) -> str:
    return value if value is _UNSET else repr(value)


def model_file(path: str | Path) -> Path:
    """The model file of a path: the path itself, or the model in a run folder."""
    place = Path(path)
    if not place.exists():
        raise UsageError(f"{place}: there is no such file or folder; give a model file or the folder of a run")
    if not place.is_dir():
        return place
    folder = RunFolder(place)
    if not folder.model.exists():
        run = "its training is not finished yet; `regard train` goes on with it"
        raise RegardError(f"{place}: {run if folder.config.exists() else 'this folder holds no run'}")
    return folder.model
