"""Delimited text with quotes, as spreadsheets write it: RFC 4180, https://www.rfc-editor.org/rfc/rfc4180."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar, Self

from regard.base.errors import ConfigError, RegardError
from regard.base.files import read_lines
from regard.data.format import Doubt, Hints
from regard.data.table import Record, Table, one_line, table_lines

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SEPARATOR = re.compile('"?sep=([^"])"?')
"""the first line by which Excel is told the delimiter"""
_LOOKED_AT = 1_000
_FEW_LINES = 20


@dataclass(frozen=True)
class Csv(Table):
    """A cell that holds delimiters, quotes or line breaks is put in double quotes, and quotes in it are doubled."""

    wider: ClassVar[str] = "; a cell that holds the delimiter is put in quotes"

    delimiter: str = ","
    """what parts the columns: one character, such as a comma, a semicolon or a tab"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.delimiter) != 1 or self.delimiter in '"\r\n':
            raise ConfigError(f"delimiter: must be one character, such as , or ; but is {self.delimiter!r}")

    def records(self, file: Path) -> Iterator[Record]:
        text = enumerate(table_lines(file))
        lines = ("\n" if at == 0 and _SEPARATOR.fullmatch(line) else f"{line}\n" for at, line in text)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True, skipinitialspace=True)
        while True:
            start = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise RegardError(f"{file}, line {start}: {_cause(error, reader.line_num, start)}") from error
            if cells is None:
                return
            yield Record(start, list(map(one_line, cells)))

    def kind(self) -> str:
        return f"{DELIMITERS.get(self.delimiter, self.delimiter)}-separated with quotes"

    @classmethod
    def opening(cls, file: Path, hints: Hints) -> Self:
        if hints.delimiter is not None:
            return cls(delimiter=hints.delimiter)
        said = _SEPARATOR.fullmatch(next(read_lines(file)))
        if said is not None:
            return cls(delimiter=said[1])
        widths = {delimiter: _widths(file, delimiter) for delimiter in DELIMITERS}
        even = [delimiter for delimiter, found in widths.items() if len(found) == 1 and max(found) > 1]
        if len(even) == 1:
            return cls(delimiter=even[0])
        if even:
            names = " or ".join(DELIMITERS[delimiter] for delimiter in even)
            raise Doubt(f"{file}: {names} may part its columns", "--delimiter", f"'{even[0]}'")
        likely = {one: found for one, found in widths.items() if found and found.most_common(1)[0][0] > 1}
        if not likely:
            # Whatever error the quotes have is raised while the rows are read.
            for _ in islice(cls().records(file), _LOOKED_AT):
                continue
            raise RegardError(f"{file}: is not CSV: its lines are not parted by commas, semicolons or tabs")
        return cls(delimiter=max(likely, key=lambda one: likely[one].most_common(1)[0][1]))


def even_delimiter(file: Path) -> str | None:
    """The semicolon or comma that parts all of a text's first rows, not few, into equally many cells, none empty."""
    for delimiter in (";", ","):
        try:
            rows = [row.cells for row in islice(Csv(delimiter=delimiter).records(file), _LOOKED_AT) if any(row.cells)]
        except RegardError:  # its quotes are those of a text
            continue
        if len(rows) >= _FEW_LINES and len(rows[0]) > 1 and all(len(row) == len(rows[0]) and all(row) for row in rows):
            return delimiter
    return None


def _widths(file: Path, delimiter: str) -> Counter[int]:
    """How many of the first rows have how many cells; those after a malformed one are not read."""
    found: Counter[int] = Counter()
    try:
        for record in islice(Csv(delimiter=delimiter).records(file), _LOOKED_AT):
            if any(record.cells):
                found[len(record.cells)] += 1
    except RegardError:
        if not found:
            return found
    return found


def _cause(error: csv.Error, reached: int, start: int) -> str:
    text = str(error)
    if "unexpected end" in text:
        return "a quotation mark opens a cell here and none closes it"
    if "field limit" in text:
        return f"a cell holds more than {csv.field_size_limit():,} characters; is a closing quotation mark missing?"
    where = "" if reached == start else f" (up to line {reached})"
    return (
        f"a cell's quotes are wrong{where}: {text.replace(chr(34) * 2, chr(34))}; quotes in a quoted cell are doubled"
    )
