"""Checkpoints in parts: each rank of a sharded training writes the rows that it holds, as a safetensors file.

    step-00000100.safetensors                    the state, what is not shared, and the number of parts; written last
    step-00000100.shard-0-of-2.safetensors       the rows of rank 0, and which rows they are

A checkpoint is complete once its first file is there. Any number of ranks can read it again, and so can one process:
rows are found by their numbers, whoever wrote them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import unreadable
from regard.runs.tensors import DamagedError, read_tensors, read_texts, write_tensors

_KIND = "part of a training checkpoint"
RowSpan = tuple[int, int, int]
"""the first row, the one after the last, and how many the whole tensor has"""


def shard_path(path: Path, rank: int, ranks: int) -> Path:
    """The file of one rank's part of the checkpoint in a file."""
    return path.with_name(f"{path.stem}.shard-{rank}-of-{ranks}{path.suffix}")


def write_shard(path: Path, rank: int, ranks: int, tensors: Mapping[str, Tensor], rows: Mapping[str, RowSpan]) -> None:
    """Write one rank's rows of some tensors."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(shard_path(path, rank, ranks), tensors, {"kind": _KIND, "rows": json.dumps(rows, sort_keys=True)})


@dataclass(frozen=True)
class Parts:
    """The files that hold the tensors of a checkpoint, read by rows."""

    files: tuple[Path, ...]

    @cached_property
    def _rows(self) -> dict[str, list[tuple[Path, RowSpan]]]:
        """By tensor: the files that hold rows of it, in order."""
        found: dict[str, list[tuple[Path, RowSpan]]] = {}
        for file in self.files:
            try:
                rows: dict[str, Sequence[int]] = json.loads(read_texts(file)["rows"])
            except (KeyError, ValueError) as error:
                raise DamagedError(f"{file}: it does not say which rows it holds") from error
            for name, (start, stop, total) in rows.items():
                found.setdefault(name, []).append((file, (start, stop, total)))
        return {name: sorted(places, key=lambda place: place[1]) for name, places in found.items()}

    def names(self) -> list[str]:
        """The names of the tensors."""
        return list(self._rows)

    def length(self, name: str) -> int:
        """How many rows a tensor has."""
        return self._rows[name][0][1][2]

    def get(self, name: str, start: int, stop: int) -> Tensor:
        """Some rows of a tensor."""
        found = []
        for file, (first, end, _) in self._rows[name]:
            if (first < stop and start < end) or (first == start and end == stop):
                found.append(_slice(file, name, max(start, first) - first, min(stop, end) - first))
        if sum(len(part) for part in found) != stop - start:
            raise DamagedError(f"{self.files[0]}: rows of '{name}' are missing")
        if not found:  # a rank that holds no rows
            file, _ = self._rows[name][0]
            return _slice(file, name, 0, 0)
        return found[0] if len(found) == 1 else torch.cat(found)

    def whole(self) -> dict[str, Tensor]:
        """All tensors."""
        return {name: self.get(name, 0, self.length(name)) for name in self._rows}

    def verify(self) -> None:
        """Read all files, one at a time, and compare their checksums."""
        for file in self.files:
            read_tensors(file)


def _slice(file: Path, name: str, start: int, stop: int) -> Tensor:
    try:
        with safe_open(file, framework="pt") as opened:
            part: Any = opened.get_slice(name)
            rows: Tensor = part[start:stop]
            return rows.clone()
    except SafetensorError as error:
        raise DamagedError(f"{file}: not a whole safetensors file ({error})") from error
    except OSError as error:
        raise unreadable(file, error) from error


def checked_parts(path: Path, ranks: int) -> Parts:
    """The parts of the checkpoint in a file; an error names one that is missing."""
    files = tuple(shard_path(path, rank, ranks) for rank in range(ranks))
    for file in files:
        if not file.is_file():
            raise RegardError(f"{file}: is missing, a part of {path.name}")
    return Parts(files)
