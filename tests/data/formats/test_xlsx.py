"""Spreadsheets: sheets, headers, merged cells, and files that are none."""

import zipfile
from pathlib import Path

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.format import Doubt, Hints, TextRow
from regard.data.formats.xlsx import Xlsx
from tests.data.formats.workbook import write_workbook

ROWS = [["Id", "English", "German"], [1, "Go on.\nNow!", "Los."], [2, "Ten", 10], [3, "It is 2.5", 2.5]]


def test_a_sheet_is_read_by_its_header(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"Data": ROWS, "Empty": []})
    found = Xlsx.recognize(path, Hints())
    assert found.format == Xlsx(columns=("English", "German"), header=True, sheet="Data")
    assert (found.source, found.target) == ("en", "de")
    assert list(found.format.rows([path])) == [
        TextRow(2, ("Go on. Now!", "Los.")),
        TextRow(3, ("Ten", "10")),
        TextRow(4, ("It is 2.5", "2.5")),
    ]
    assert found.format.words() == "spreadsheet, sheet Data, columns English and German, header skipped"


def test_rows_have_the_numbers_that_the_sheet_shows(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"Data": [["a", "x"], ["b", "y"]]}, first_row=4)
    rows = Xlsx(columns=(1, 2)).rows([path])
    assert [row for row in rows if any(row.texts)] == [TextRow(4, ("a", "x")), TextRow(5, ("b", "y"))]


def test_which_sheet_is_asked(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"One": ROWS, "Two": ROWS})
    with pytest.raises(Doubt, match=r"has the sheets One, Two; say it with --sheet 'One'"):
        Xlsx.recognize(path, Hints())
    assert Xlsx.recognize(path, Hints(sheet="Two")).format.sheet == "Two"  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"unknown 'Tow' \(did you mean 'Two'\?\); its sheets are: One, Two"):
        Xlsx.recognize(path, Hints(sheet="Tow"))


def test_a_sheet_of_remarks_is_passed_over(tmp_path: Path) -> None:
    remarks = [["Collected in May."], [""], ["Ask Ana about row 3."]]
    path = write_workbook(tmp_path / "a.xlsx", {"Read me": remarks, "Pairs": ROWS})
    found = Xlsx.recognize(path, Hints())
    assert found.format.words() == "spreadsheet, sheet Pairs, columns English and German, header skipped"
    assert len(list(found.format.rows([path]))) == 3
    write_workbook(path, {"One": [["a"]], "Two": [["b"]]})
    with pytest.raises(Doubt, match="has the sheets One, Two"):
        Xlsx.recognize(path, Hints())


def test_merged_cells_are_refused_with_their_row(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"Data": ROWS}, merged="B2:C2")
    with pytest.raises(RegardError, match=r"a\.xlsx, row 2: cells are merged from column 2 to 3, down to row 2"):
        list(Xlsx(columns=(2, 3)).rows([path]))


def test_merged_cells_of_a_title_are_no_fault(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"Data": [["Our pairs", "", ""], *ROWS]}, merged="A1:C1")
    found = Xlsx.recognize(path, Hints())
    assert found.format.words() == "spreadsheet, sheet Data, columns English and German, title and header skipped"
    assert next(iter(found.format.rows([path]))) == TextRow(3, ("Go on. Now!", "Los."))
    write_workbook(path, {"Data": [["Our pairs", "", ""], *ROWS]}, merged="A1:A2")
    with pytest.raises(RegardError, match=r"row 1: cells are merged from column 1 to 1, down to row 2"):
        Xlsx.recognize(path, Hints())
    write_workbook(path, {"Data": [["one", ""], ["two", ""]]}, merged="A1:B1")
    with pytest.raises(RegardError, match=r"row 1: cells are merged"):
        list(Xlsx(columns=(1, 2)).rows([path]))


def test_what_is_no_spreadsheet_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    with pytest.raises(RegardError, match=r"a\.xlsx: (the spreadsheet is damaged|is protected by a password)"):
        Xlsx.recognize(path, Hints())
    write_workbook(path, {"Data": ROWS})
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(RegardError, match=r"a\.xlsx: the spreadsheet is damaged, or is none"):
        Xlsx.recognize(path, Hints())
    with pytest.raises(RegardError, match=r"b\.xlsx: cannot be read: there is no such file"):
        Xlsx.recognize(tmp_path / "b.xlsx", Hints())
    with pytest.raises(RegardError, match="all sheets are empty"):
        Xlsx.recognize(write_workbook(path, {"Data": []}), Hints())


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"Data": ROWS})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", bytes(100 << 20))
    with pytest.raises(RegardError, match=r"a\.xlsx: would unpack to 100 MiB"):
        list(Xlsx().rows([path]))
