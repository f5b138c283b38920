"""Byte-level text classification: files in folders, one folder for each class, read as bytes.

    texts/sport/*.txt, texts/music/*.txt   →   sport or music, from `length` bytes

Tay et al., Long Range Arena, 2021, https://arxiv.org/abs/2011.04006, there on film reviews. Any folder will do, such as
the sources of two programs.
"""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import ConfigError, check_at_least
from regard.data.puzzle_rows import Puzzle


@dataclass(frozen=True, kw_only=True)
class FolderBytes(Puzzle):
    """Tell from a piece of a file in which folder it lies."""

    folder: Path = Path("texts")
    """the folder whose subfolders are the classes; relative names start at the run file"""
    length: int = 1024
    """bytes in an example; a piece of a longer file, begun anywhere"""

    def __post_init__(self) -> None:
        check_at_least("folder_bytes", 1, length=self.length)

    @property
    def symbols(self) -> int:
        return 257

    @property
    def answers(self) -> int:
        return len(_files(self.folder))

    def found_in(self, folder: Path) -> Self:
        return replace(self, folder=folder / self.folder)

    def draw(self, draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        classes = _files(self.folder)
        wanted = int(draw.integers(len(classes)))
        text = np.frombuffer(_content(classes[wanted][int(draw.integers(len(classes[wanted])))]), dtype=np.uint8)
        start = int(draw.integers(max(1, len(text) - self.length + 1)))
        return text[start : start + self.length].astype(np.int64) + 1, np.array(wanted)


@cache
def _files(folder: Path) -> tuple[tuple[Path, ...], ...]:
    """The files of each class, those with nothing in them left out."""
    if not folder.is_dir():
        raise ConfigError(f"puzzle.folder: {folder} is no folder; it must have a subfolder for each class")
    named = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    files = tuple(
        tuple(sorted(one for one in path.rglob("*") if one.is_file() and one.stat().st_size)) for path in named
    )
    if len(files) < 2 or not all(files):
        raise ConfigError(f"puzzle.folder: {folder} must have at least two subfolders with files in each")
    return files


@cache
def _content(path: Path) -> bytes:
    return path.read_bytes()
