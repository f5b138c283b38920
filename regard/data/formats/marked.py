"""Lines parted by marks: `a cat ||| eine Katze`, as aligners have them, or with labels: `IN: jump OUT: I_JUMP`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

from regard.base.errors import ConfigError, RegardError
from regard.base.files import read_lines
from regard.data.format import Hints
from regard.data.table import Record, Table

_BARS = "|||"
_MARKS = (" || ", " | ", " => ", " -> ", " → ", " :: ")
"""marks that part every line of tables only"""
_DASHES = (" = ", " - ", " – ", " — ", " / ", ": ")
"""marks that part the lines of word lists, and of other texts too"""
_FEW_LINES = 5
_LABELS = re.compile(r"([^\W\d_]+:)\s.*?\s([^\W\d_]+:)(?:\s|$)")
_LOOKED_AT = 1_000


@dataclass(frozen=True)
class Marked(Table):
    """A row a line, split at a mark, with the white space around it removed."""

    first: str = ""
    """the label that every line begins with, such as `IN:`; none where columns have no labels"""
    between: str = _BARS
    """what parts the columns: the second label, such as `OUT:`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.between.strip():
            raise ConfigError("between: must be a mark that is seen, such as ||| or OUT:")

    def records(self, file: Path) -> Iterator[Record]:
        for number, line in enumerate(read_lines(file), start=1):
            if line.strip() and not line.lstrip().startswith(self.first):
                raise RegardError(f"{file}, line {number}: does not begin with {self.first} as the others do")
            cells = line.strip().removeprefix(self.first).split(self.between, *([1] if self.first else []))
            yield Record(number, [cell.strip() for cell in cells])

    def kind(self) -> str:
        return f"lines parted by {self.between.strip()}"

    @classmethod
    def opening(cls, file: Path, hints: Hints) -> Self:
        lines = [line for line in islice(read_lines(file), _LOOKED_AT) if line.strip()]
        found, dash = marks_of(lines), dash_of(lines)
        if found is None and dash is None:
            raise RegardError(f"{file}: no mark parts its lines, such as ||| or labels that end in a colon")
        return cls(first=found[0], between=found[1]) if found else cls(between=dash or _BARS)


def marks_of(lines: Sequence[str]) -> tuple[str, str] | None:
    """The label before and the mark within every one of some lines; None if they have none in common."""
    if lines and all(f" {_BARS} " in f" {line} " for line in lines):
        return "", _BARS
    mark = _common(lines, _MARKS)
    if mark is not None:
        return "", mark
    labels = _LABELS.match(lines[0].strip()) if lines else None
    if labels is None:
        return None
    first, between = labels.groups()
    same = all(line.split()[0] == first and line.split().count(between) == 1 for line in lines)
    return (first, between) if same and len(lines) > 1 and first != between else None


def dash_of(lines: Sequence[str]) -> str | None:
    """The dash, with its spaces, or the like that parts every one of some lines: `cat - Katze`, `cat: Katze`."""
    return _common(lines, _DASHES)


def _common(lines: Sequence[str], marks: Sequence[str]) -> str | None:
    """The mark that parts all lines into equally many cells, none of them empty."""
    for mark in marks if len(lines) >= _FEW_LINES else ():
        cells = [line.strip().split(mark) for line in lines]
        if len(cells[0]) > 1 and all(len(row) == len(cells[0]) and all(map(str.strip, row)) for row in cells):
            return mark
    return None
