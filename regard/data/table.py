"""Tables: rows of cells, of which one column is a source and another its translation.

Text files with delimiters and spreadsheets differ in how they give their rows; columns and headers are chosen here.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

from regard.base.errors import ConfigError, RegardError, check_at_least, unknown
from regard.base.files import read_lines
from regard.base.wording import counted
from regard.data.column_choice import ColumnChoice, choose_columns, joined_columns
from regard.data.format import SIDES, Format, Hints, Recognized, TextRow

_LOOKED_AT = 1_000
MOST_TITLES = 5
"""rows above a table that may be titles of it"""
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
    wider: ClassVar[str] = ""
    """what may be wrong with a row that has more cells than the first one"""

    columns: tuple[int | str, ...] | None = None
    """source and target, or one for a language model: numbers from 1 or names in the header, those that are read
    together joined by a plus sign (`1+3`); none: the only two"""
    header: bool = False
    """whether the first row holds names"""
    title: int = field(default=0, repr=False)
    """how many rows above the table, such as a title, are not read; blank ones are not counted"""

    def __post_init__(self) -> None:
        check_at_least("title", 0, title=self.title)
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
        file, count, first, above = files[0], 0, 0, self.title
        chosen: tuple[tuple[int, ...], ...] = ()
        for line, cells in self.records(file):
            if not any(map(str.strip, cells)):
                yield TextRow(line, ("",) * self.sides(files))
                continue
            if above:
                above -= 1
                continue
            if not first:
                first, count, chosen = line, len(cells), self._places(file, line, cells)
                if self.header:
                    continue
            self._check_width(file, Record(line, cells), first, count)
            yield TextRow(line, tuple(" ".join(cells[at] for at in own) for own in chosen))

    def words(self) -> str:
        named = self.columns or (1, 2)
        columns = f"column{'s' if len(named) == 2 else ''} {' and '.join(map(str, named))}"
        return f"{self.kind()}, {columns}, {_skipped(self.title, self.header)}"

    def key(self) -> list[str]:
        return super().key() + ([f"title={self.title}"] if self.title else [])

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
        title = _title_rows(sample)
        sample = sample[title:]
        for record in sample:
            self._check_width(file, record, sample[0].line, len(sample[0].cells))
        found: ColumnChoice = choose_columns(file, [record.cells for record in sample], hints)
        chosen = replace(self, columns=found.columns, header=found.header, title=title)
        read = chosen._places(file, sample[0].line, sample[0].cells)
        unread = len(sample[0].cells) - len({place for own in read for place in own})
        return Recognized(
            format=chosen,
            source=found.source,
            target=found.target,
            document=found.document,
            besides=f", {counted(unread, 'other column')} not read" if unread else "",
        )

    def _check_width(self, file: Path, record: Record, first: int, count: int) -> None:
        """Refuse a row that has not as many cells as the first one, on line `first`."""
        if len(record.cells) != count:
            where, wide = f"{file}, {self.unit} {record.line}", counted(len(record.cells), "column")
            hint = self.wider if len(record.cells) > count else ""
            raise RegardError(f"{where}: has {wide}, but {self.unit} {first} has {count}{hint}")

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
                raise ConfigError(
                    f"{file}, {self.unit} {line}: has {counted(len(cells), 'column')}, so there is no {column}"
                )
            return found

        return tuple(tuple(map(place, joined_columns(column, names))) for column in self.columns or (1, 2))


def one_line(cell: str) -> str:
    """A cell's text without line breaks, since a sentence is a line."""
    return _BREAKS.sub(" ", cell).strip(" ")


def _title_rows(sample: Sequence[Record]) -> int:
    """How many of the first rows fill their first cell alone, above a table whose rows fill several."""
    filled = [[at for at, cell in enumerate(record.cells) if cell.strip()] for record in sample]
    above = sum(1 for _ in takewhile(lambda places: places == [0], filled))
    wide = sum(len(places) > 1 for places in filled[above:])
    return above if above <= MOST_TITLES and above < wide and 2 * wide > len(filled) - above else 0


def _skipped(title: int, header: bool) -> str:
    if not title:
        return "header skipped" if header else "no header"
    return "title and header skipped" if header else "title skipped, no header"
