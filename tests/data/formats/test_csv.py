"""CSV as spreadsheets write it, and what is wrong with a file that is none."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.base.errors import ConfigError, RegardError
from regard.data.format import Doubt, Hints, TextRow
from regard.data.formats.csv import Csv
from regard.data.table import one_line

cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\ufeff"), max_size=8).map(str.strip)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=8),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_is_written_is_read(rows: list[tuple[str, str]], delimiter: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, lineterminator=end).writerows(rows)
    expected = [tuple(map(one_line, row)) for row in rows]
    assert [row.texts for row in Csv(delimiter=delimiter).rows([path])] == expected


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"'])
def test_the_delimiter_that_excel_is_told_is_no_row(first: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\r\nen;de\r\na, b;x, y\r\nc, d;z, w\r\n", encoding="utf-8-sig")
    found = Csv.recognize(path, Hints()).format
    assert found == Csv(columns=("en", "de"), header=True, delimiter=";")
    assert [row for row in found.rows([path]) if any(row.texts)] == [
        TextRow(3, ("a, b", "x, y")),
        TextRow(4, ("c, d", "z, w")),
    ]


def test_rows_have_the_lines_where_they_begin(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('en,de\r\n"a\r\n b",x\r\n\r\n"say ""c""",y\r\n', encoding="utf-8-sig")
    found = Csv.recognize(path, Hints())
    assert found.format == Csv(columns=("en", "de"), header=True)
    assert (found.source, found.target) == ("en", "de")
    assert list(found.format.rows([path])) == [
        TextRow(2, ("a b", "x")),
        TextRow(4, ("", "")),
        TextRow(5, ('say "c"', "y")),
    ]
    assert found.format.words() == "comma-separated with quotes, columns en and de, header skipped"


def test_the_delimiter_is_the_one_that_gives_even_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("Hello, you;Hallo\nYes, me, too;Ja\n", encoding="utf-8")
    assert Csv.recognize(path, Hints()).format == Csv(columns=(1, 2), delimiter=";")
    path.write_text("a,b;c\nd,e;f\n", encoding="utf-8")
    with pytest.raises(Doubt, match=r"a\.csv: comma or semicolon may part its columns; say it with --delimiter ','"):
        Csv.recognize(path, Hints())
    assert Csv.recognize(path, Hints(delimiter=";")).format == Csv(columns=(1, 2), delimiter=";")


FAULTS = {
    'a,b\n"c,d\ne,f\n': "line 2: a quotation mark opens a cell here and none closes it",
    'a,b\n"c,d\n"e",f\n': r"line 2: a cell's quotes are wrong \(up to line 3\)",
    'a,b\n"c"d,e\n': "line 2: a cell's quotes are wrong: ',' expected after '\"'; quotes in a quoted cell are doubled",
    "a,b\nc,d,e\nf,g\n": "line 2: has 3 columns, but line 1 has 2; a cell that holds the delimiter is put in quotes",
    "one\ntwo\n": "is not CSV: its lines are not parted by commas, semicolons or tabs",
    "": "the file is empty",
    'a,b\n"' + "x" * 140_000: "line 2: a cell holds more than 131,072 characters; is a closing quotation mark missing",
}


@pytest.mark.parametrize("text", FAULTS, ids=range(len(FAULTS)))
def test_what_is_wrong_is_said_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match=FAULTS[text]):
        list(Csv.recognize(path, Hints()).format.rows([path]))


def test_quotes_may_follow_a_space(tmp_path: Path) -> None:
    """They were taken for a part of the text."""
    (tmp_path / "a.csv").write_text('en, de\n"Yes, sir.", "Ja, Herr."\n', encoding="utf-8")
    found = Csv.recognize(tmp_path / "a.csv", Hints()).format
    assert [row.texts for row in found.rows([tmp_path / "a.csv"])] == [("Yes, sir.", "Ja, Herr.")]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\nc,\xe9\n")
    with pytest.raises(RegardError, match=r"a\.csv, line 2: byte 0xe9 at column 3 is not UTF-8"):
        Csv.recognize(tmp_path / "a.csv", Hints(delimiter=","))


def test_the_delimiter_is_one_character() -> None:
    with pytest.raises(ConfigError, match="delimiter: must be one character, such as , or ; but is '::'"):
        Csv(delimiter="::")
