"""Spreadsheets: XLSX, and what else the library reads, such as ODS and the older XLS."""

import importlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from regard.base.errors import ConfigError, RegardError, unknown
from regard.base.extras import install_hint
from regard.base.files import unreadable
from regard.data.format import Doubt, Hints
from regard.data.table import Record, Table, one_line

_MOST_BYTES = 2 << 30
_MOST_RATIO = 200
"""an ordinary sheet shrinks to a tenth; only one made to fill memory shrinks this far"""
_SMALL = 64 << 20


@dataclass(frozen=True)
class Xlsx(Table):
    """One sheet of a workbook; a row is a row of the sheet."""

    unit: ClassVar[str] = "row"

    sheet: str | None = None
    """its name; none: the only sheet that holds a table, or anything"""

    def records(self, file: Path) -> Iterator[Record]:
        with _workbook(file) as book:
            sheet = book.get_sheet_by_name(_sheet(file, book, self.sheet))
            above = True
            for number, row in enumerate(sheet.iter_rows(), start=1):
                cells = [one_line(_text(cell)) for cell in row]
                if above and sum(map(bool, cells)) > 1:  # the table begins, and with it what must not be merged
                    above = False
                    _refuse_merged(file, sheet, number)
                yield Record(number, cells)
            if above:
                _refuse_merged(file, sheet, 1)

    def kind(self) -> str:
        return "spreadsheet" if self.sheet is None else f"spreadsheet, sheet {self.sheet}"

    @classmethod
    def opening(cls, file: Path, hints: Hints) -> Self:
        with _workbook(file) as book:
            return cls(sheet=_sheet(file, book, hints.sheet))


@contextmanager
def _workbook(file: Path) -> Iterator[Any]:
    try:
        library = importlib.import_module("python_calamine")
    except ImportError as error:
        raise RegardError(
            f"{file}: spreadsheets need the package python-calamine: {install_hint('formats')}"
        ) from error
    _refuse_bomb(file)
    try:
        with library.CalamineWorkbook.from_path(file) as book:
            yield book
    except library.PasswordError as error:
        raise RegardError(f"{file}: is protected by a password; save it without one") from error
    except (library.CalamineError, library.XmlError, library.ZipError) as error:
        raise RegardError(f"{file}: the spreadsheet is damaged, or is none: {error}") from error
    except OSError as error:
        raise unreadable(file, error) from error


def _refuse_bomb(file: Path) -> None:
    """A workbook is a zip archive that is read as a whole: refuse one that would fill the memory."""
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except OSError as error:
        raise unreadable(file, error) from error
    except zipfile.BadZipFile:
        return  # another kind of spreadsheet, or a damaged one: the library will say
    if size > _MOST_BYTES or size > max(_SMALL, _MOST_RATIO * file.stat().st_size):
        raise RegardError(f"{file}: would unpack to {size / 2**20:,.0f} MiB; save the sheet as CSV, which is streamed")


def _sheet(file: Path, book: Any, wanted: str | None) -> str:
    names: list[str] = book.sheet_names
    if wanted is not None:
        if wanted not in names:
            raise ConfigError(unknown(f"{file}", wanted, names, "its sheets"))
        return wanted
    widths = {name: book.get_sheet_by_name(name).width for name in names}
    filled = [name for name in names if widths[name]]
    tables = [name for name in names if widths[name] > 1]  # what fills one column beside them are remarks
    if len(tables) == 1:
        return tables[0]
    if len(filled) > 1:
        raise Doubt(f"{file}: has the sheets {', '.join(filled)}", "--sheet", repr(filled[0]))
    if not filled:
        raise RegardError(f"{file}: all sheets are empty")
    return filled[0]


def _refuse_merged(file: Path, sheet: Any, first: int) -> None:
    """Refuse a sheet with merged cells in its row `first` or below; above there are titles, which are not read."""
    for (row, column), (last_row, last_column) in sheet.merged_cell_ranges or []:
        if (row, column) != (last_row, last_column) and last_row + 1 >= first:
            raise RegardError(
                f"{file}, row {row + 1}: cells are merged from column {column + 1} to {last_column + 1}, down to row "
                f"{last_row + 1}; unmerge them, so that every row has its own source and target"
            )


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell if isinstance(cell, str) else str(cell)
