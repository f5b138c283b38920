"""The base class of file formats: how rows of one or two texts are read from files, and how a format is recognized.

A format is one file in `formats/`, a frozen dataclass whose fields are settings: `[data.format]` in run.toml, or
`csv(columns=["en", "de"], header=true)` on a command line.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from regard.base.catalog import Catalog
from regard.base.errors import UsageError

TEXT_FORMATS = Catalog("regard.data.formats")
SIDES = ("source", "target")


class TextRow(NamedTuple):
    """The texts of all sides, with the number of the line where they begin, from 1."""

    line: int
    texts: tuple[str, ...]


class Format(ABC):
    """How one or two texts a row are read from files. Reading streams: a file is never held in memory."""

    most: ClassVar[int] = 1
    """the most files that one corpus has"""

    @abstractmethod
    def sides(self, files: Sequence[Path]) -> int:
        """Two for translation, one for a language model."""

    @abstractmethod
    def rows(self, files: Sequence[Path]) -> Iterator[TextRow]:
        """The rows in order, blank ones too."""

    @abstractmethod
    def words(self) -> str:
        """How the files are read, in words: `tab-separated, columns 1 and 2, no header`."""

    @classmethod
    @abstractmethod
    def recognize(cls, file: Path, hints: "Hints") -> "Recognized":
        """The settings that fit a file of this format; raises Doubt where the hints leave a choice open."""

    def place(self, files: Sequence[Path], line: int, side: int) -> str:
        """Where a text stands, for error messages."""
        return f"{files[0]}, line {line}, {SIDES[side]}"

    def key(self) -> list[str]:
        """What a corpus's fingerprint says of how the files are read."""
        return [repr(self)]


@dataclass(frozen=True, kw_only=True)
class Hints:
    """What is said beforehand of how a file is read; what is None is to be recognized."""

    columns: tuple[int | str, ...] | None = None
    """numbers from 1, names of a header, or keys of JSON"""
    header: bool | None = None
    delimiter: str | None = None
    sheet: str | None = None
    source: str | None = None
    target: str | None = None


@dataclass(frozen=True, kw_only=True)
class Recognized:
    """A format with the settings that fit a file, and what else the file tells."""

    format: Format
    source: str | None = None
    target: str | None = None
    document: int | str | None = None
    """the column that tells documents apart, if there is one"""
    besides: str = ""
    """what of the file is not read, in words"""


class Doubt(UsageError):
    """A file that can be read in several ways; the person who has it can say which."""

    def __init__(self, problem: str, flag: str, example: str) -> None:
        ask = " Say" if problem.endswith("?") else "; say"
        super().__init__(f"{problem}{ask} it with {flag} {example}".rstrip())
        self.problem, self.flag, self.example = problem, flag, example
