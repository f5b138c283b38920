"""Checkpoints: a training run at one step as a file, and the folder of those that are kept.

A checkpoint holds what the trainer needs to resume: tensors, and a state that JSON can hold. It is written whole or
not at all. A checkpoint that was damaged on the disk is reported and skipped in favor of the one before it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import unwritable
from regard.runs.artifact import check_kind
from regard.runs.sharded import Parts, checked_parts
from regard.runs.tensors import read_tensors, read_texts, write_tensors

_KIND = "training checkpoint"
_VERSION = 1
_NAME = re.compile(r"step-(\d+)\.safetensors")
_SHARD = re.compile(r"(step-\d+)\.shard-\d+-of-\d+(\.safetensors)")
_TEMPORARY = re.compile(r"\.step-\d+(\.shard-\d+-of-\d+)?\.safetensors\..+\.tmp")


@dataclass(frozen=True)
class Checkpoint:
    """The tensors and the state of a run after `step` steps."""

    step: int
    tensors: Mapping[str, Tensor]
    state: Mapping[str, Any]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin with `prefix` and a dot, with the prefix removed."""
        start = f"{prefix}."
        return {name.removeprefix(start): tensor for name, tensor in self.tensors.items() if name.startswith(start)}


@dataclass(frozen=True)
class Checkpoints:
    """A folder of checkpoints, one file per step."""

    folder: Path

    def path(self, step: int) -> Path:
        """The file of a step's checkpoint."""
        return self.folder / f"step-{step:08d}.safetensors"

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in order."""
        found = (_NAME.fullmatch(path.name) for path in self._files())
        return sorted(int(match[1]) for match in found if match)

    def write(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint atomically."""
        texts = {"kind": _KIND, "version": str(_VERSION), "step": str(checkpoint.step)}
        texts["state"] = json.dumps(checkpoint.state, sort_keys=True)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        write_tensors(self.path(checkpoint.step), checkpoint.tensors, texts)

    def read(self, step: int) -> Checkpoint:
        """Read the checkpoint of a step, in one file or in parts; an error says what is wrong with its file."""
        found = self.read_apart(step)
        if "shards" not in found.state:
            return found
        parts = self.parts(step, found.state["shards"])
        parts.verify()
        return Checkpoint(step, {**found.tensors, **parts.whole()}, found.state)

    def parts(self, step: int, ranks: int) -> Parts:
        """The files that ranks of a sharded training have written."""
        return checked_parts(self.path(step), ranks)

    def read_apart(self, step: int) -> Checkpoint:
        """Read the first file of a checkpoint: all of it, or what its parts do not hold."""
        path = self.path(step)
        found = read_checkpoint(path)
        if found.step != step:
            raise RegardError(f"{path}: this is the checkpoint of step {found.step}; its file was renamed")
        return found

    def state(self, step: int) -> dict[str, Any]:
        """Read the state alone, without the tensors."""
        return _state(self.path(step), read_texts(self.path(step)))

    def newest_first(self, warn: Callable[[str], None]) -> Iterator[Checkpoint]:
        """The intact checkpoints, latest first; a warning names each damaged one."""
        for step in reversed(self.steps()):
            try:
                checkpoint = self.read(step)
            except RegardError as error:
                warn(f"{error}; the checkpoint before it is used")
                continue
            yield checkpoint

    def keep(self, steps: Iterable[int]) -> None:
        """Delete all checkpoints but those of the given steps, and leftover temporary files."""
        wanted = {self.path(step).name for step in steps}
        for path in self._files():
            ours = _NAME.fullmatch(path.name) or _TEMPORARY.fullmatch(path.name) or _SHARD.fullmatch(path.name)
            if ours and _SHARD.sub(r"\1\2", path.name) not in wanted:
                path.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return list(self.folder.iterdir()) if self.folder.is_dir() else []


def is_checkpoint(path: Path) -> bool:
    """Whether the file says that it is a checkpoint or snapshot; False for what cannot be read at all."""
    try:
        return read_texts(path).get("kind") == _KIND
    except RegardError:
        return False


def read_checkpoint(path: Path) -> Checkpoint:
    """Read the checkpoint in a file, whatever its name."""
    tensors, texts = read_tensors(path)
    state = _state(path, texts)
    return Checkpoint(int(texts["step"]), tensors, state)


def _state(path: Path, texts: Mapping[str, str]) -> dict[str, Any]:
    check_kind(path, texts, _KIND, _VERSION)
    try:
        state: dict[str, Any] = json.loads(texts["state"])
    except (KeyError, json.JSONDecodeError) as error:
        raise RegardError(f"{path}: the state of the training cannot be read: {error}") from error
    return state
