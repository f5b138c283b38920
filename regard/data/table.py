"""Tables: rows of cells, of which one column is a source and another its translation.

Text files with delimiters and spreadsheets differ in how they give their rows; columns and headers are chosen here.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from regard.base.errors import ConfigError, RegardError, unknown
from regard.base.files import read_lines
from regard.data.column_choice import ColumnChoice, choose_columns, joined_columns
from regard.data.format import SIDES, Format, Hints, Recognized, TextRow

_LOOKED_AT = 1_000
_SETTING = re.compile(r"#(separator|html|tags|columns|notetype|deck|guid)( column)?:")
_BREAKS = re.compile(r"\s*[\r\n]+\s*")


def table_lines(file: Path) -> Iterator[str]:
    """The lines of a table; those by which Anki says how its export is read (`#separator:tab`) are blank."""
    begins = True
    for line in read_lines(file):
        begins = begins and _SETTING.match(line) is not None
        yield "" if begins else line


class Record(NamedTuple):
    """The cells of a row, with the number of the line where it begins, from 1."""

    line: int
    cells: list[str]


@dataclass(frozen=True)
class Table(Format):
    """The base of formats with columns. Every row must have as many cells as the first one."""

    unit: ClassVar[str] = "line"

    columns: tuple[int | str, ...] | None = None
    """source and target, or one for a language model: numbers from 1 or names in the header, those that are read
    together joined by a plus sign (`1+3`); none: the only two"""
    header: bool = False
    """whether the first row holds names"""

    def __post_init__(self) -> None:
        if self.columns is None:
            return
        if not 1 <= len(self.columns) <= 2:
            raise ConfigError(f"columns: one or two are wanted, not {len(self.columns)}")
        if len(set(self.columns)) < len(self.columns):
            raise ConfigError(f"columns: {self.columns[0]} is given twice; source and target are different columns")
        for column in (part for own in self.columns for part in joined_columns(own)):
            if isinstance(column, int) and column < 1:
                raise ConfigError(f"columns: they are numbered from 1, but {column} is given")
            if isinstance(column, str) and not self.header:
                raise ConfigError(f"columns: '{column}' is a name, which needs header = true; or give numbers from 1")

    @abstractmethod
    def records(self, file: Path) -> Iterator[Record]:
        """All rows of a file, the header too."""

    @abstractmethod
    def kind(self) -> str:
        """What such a file is called: `tab-separated`."""

    @classmethod
    @abstractmethod
    def opening(cls, file: Path, hints: Hints) -> Self:
        """The format with all settings that do not concern columns, such as the sheet or the delimiter."""

    def sides(self, files: Sequence[Path]) -> int:
        return len(self.columns or SIDES)

    def rows(self, files: Sequence[Path]) -> Iterator[TextRow]:
        file, count, first = files[0], 0, 0
        chosen: tuple[tuple[int, ...], ...] = ()
        for line, cells in self.records(file):
            if not any(map(str.strip, cells)):
                yield TextRow(line, ("",) * self.sides(files))
                continue
            if not first:
                first, count, chosen = line, len(cells), self._places(file, line, cells)
                if self.header:
                    continue
            if len(cells) != count:
                raise RegardError(
                    f"{file}, {self.unit} {line}: has {_columns(len(cells))}, but {self.unit} {first} has {count}"
                )
            yield TextRow(line, tuple(" ".join(cells[at] for at in own) for own in chosen))

    def words(self) -> str:
        named = self.columns or (1, 2)
        columns = f"column{'s' if len(named) == 2 else ''} {' and '.join(map(str, named))}"
        return f"{self.kind()}, {columns}, {'header skipped' if self.header else 'no header'}"

    def place(self, files: Sequence[Path], line: int, side: int) -> str:
        column = f"column {self.columns[side]}" if self.columns else SIDES[side]
        return f"{files[0]}, {self.unit} {line}, {column}"

    @classmethod
    def recognize(cls, file: Path, hints: Hints) -> Recognized:
        opening = cls.opening(file, hints)
        return opening.with_columns(file, hints)

    def with_columns(self, file: Path, hints: Hints) -> Recognized:
        """The format with the columns that the first rows or the hints tell."""
        sample = [record for record in islice(self.records(file), _LOOKED_AT) if any(map(str.strip, record.cells))]
        if not sample:
            raise RegardError(f"{file}: the file is empty")
        for record in sample:
            if len(record.cells) != len(sample[0].cells):
                raise RegardError(
                    f"{file}, {self.unit} {record.line}: has {_columns(len(record.cells))}, but {self.unit} "
                    f"{sample[0].line} has {len(sample[0].cells)}"
                )
        found: ColumnChoice = choose_columns(file, [record.cells for record in sample], hints)
        chosen = type(self)(**(vars(self) | {"columns": found.columns, "header": found.header}))
        read = chosen._places(file, sample[0].line, sample[0].cells)
        unread = len(sample[0].cells) - len({place for own in read for place in own})
        return Recognized(
            format=chosen,
            source=found.source,
            target=found.target,
            document=found.document,
            besides=f", {unread} other column{'s' if unread > 1 else ''} not read" if unread else "",
        )

    def _places(self, file: Path, line: int, cells: list[str]) -> tuple[tuple[int, ...], ...]:
        """The places of the columns of each side, from 0."""
        if self.columns is None and len(cells) != 2:
            raise RegardError(f"{file}, {self.unit} {line}: two columns are wanted, but there are {len(cells)}")
        names = [cell.strip() for cell in cells] if self.header else []

        def place(column: int | str) -> int:
            if isinstance(column, str) and column not in names:
                raise ConfigError(unknown(f"{file}, {self.unit} {line}", column, names, "columns"))
            found = names.index(column) if isinstance(column, str) else column - 1
            if found >= len(cells):
                raise ConfigError(f"{file}, {self.unit} {line}: has {_columns(len(cells))}, so there is no {column}")
            return found

        return tuple(tuple(map(place, joined_columns(column, names))) for column in self.columns or (1, 2))


def one_line(cell: str) -> str:
    """A cell's text without line breaks, since a sentence is a line."""
    return _BREAKS.sub(" ", cell).strip(" ")


def _columns(count: int) -> str:
    return f"{count} column{'' if count == 1 else 's'}"
