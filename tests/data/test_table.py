"""Tables: columns by number or name, and rows that do not fit."""

from dataclasses import replace
from pathlib import Path

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.format import Hints, TextRow
from regard.data.formats.tsv import Tsv
from regard.data.table import one_line


def put(folder: Path, text: str) -> list[Path]:
    (folder / "a.tsv").write_text(text, encoding="utf-8")
    return [folder / "a.tsv"]


def test_columns_are_chosen_by_number_or_name(tmp_path: Path) -> None:
    files = put(tmp_path, "n\ten\tde\n\n1\ta\tx\n")
    expected = [TextRow(2, ("", "")), TextRow(3, ("x", "a"))]
    assert list(Tsv(columns=("de", "en"), header=True).rows(files)) == expected
    assert list(Tsv(columns=(3, 2), header=True).rows(files)) == expected
    assert list(Tsv(columns=(2,)).rows(files)) == [TextRow(1, ("en",)), TextRow(2, ("",)), TextRow(3, ("a",))]
    assert Tsv(columns=(2,)).sides(files) == 1
    assert Tsv(columns=(2,)).words() == "tab-separated, column 2, no header"
    assert Tsv(columns=(3, 2)).place(files, 3, 0) == f"{files[0]}, line 3, column 3"


def test_columns_are_read_together(tmp_path: Path) -> None:
    files = put(tmp_path, "word\tform\ttags\ngehen\tging\tV;PST\n")
    expected = [TextRow(2, ("gehen V;PST", "ging"))]
    assert list(Tsv(columns=("1+3", 2), header=True).rows(files)) == expected
    assert list(Tsv(columns=("word+tags", "form"), header=True).rows(files)) == expected
    found = Tsv.recognize(files[0], Hints(columns=("1+3", 2), header=True))
    assert (found.format, found.besides) == (Tsv(columns=("word+tags", "form"), header=True), "")
    with pytest.raises(ConfigError, match="so there is no 4"):
        list(Tsv(columns=("1+4", 2)).rows(files))


def test_rows_that_do_not_fit_are_named(tmp_path: Path) -> None:
    files = put(tmp_path, "a\tb\tc\nd\te\n")
    with pytest.raises(RegardError, match=r"a\.tsv, line 2: has 2 columns, but line 1 has 3"):
        list(Tsv(columns=(1, 2)).rows(files))
    with pytest.raises(RegardError, match=r"a\.tsv, line 1: two columns are wanted, but there are 3"):
        list(Tsv().rows(files))
    with pytest.raises(ConfigError, match=r"a\.tsv, line 1: has 3 columns, so there is no 4"):
        list(Tsv(columns=(1, 4)).rows(files))
    with pytest.raises(ConfigError, match=r"a\.tsv, line 1: unknown 'x'; columns are: a, b, c"):
        list(Tsv(columns=("a", "x"), header=True).rows(files))


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ((1, 2, 3), "columns: one or two are wanted, not 3"),
        ((1, 1), "columns: 1 is given twice; source and target are different columns"),
        ((0, 1), "columns: they are numbered from 1, but 0 is given"),
        (("1+0", 2), "columns: they are numbered from 1, but 0 is given"),
        (("1+tags", 2), "columns: 'tags' is a name, which needs header = true"),
        (("en", "de"), "columns: 'en' is a name, which needs header = true; or give numbers from 1"),
    ],
)
def test_columns_that_make_no_sense_are_refused(columns: tuple[int | str, ...], fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        Tsv(columns=columns)


def test_a_cell_becomes_a_line() -> None:
    assert one_line(" a \r\n\n b\u2028c ") == "a b\u2028c"
    assert one_line("") == ""


def test_titles_above_a_table_are_no_rows(tmp_path: Path) -> None:
    files = put(tmp_path, "Our translations\n\nof 2026\t\nen\tde\na cat\teine Katze\nb\ty\n")
    found = Tsv.recognize(files[0], Hints()).format
    assert found == Tsv(columns=("en", "de"), header=True, title=2)
    assert found.words() == "tab-separated, columns en and de, title and header skipped"
    rows = [TextRow(2, ("", "")), TextRow(5, ("a cat", "eine Katze")), TextRow(6, ("b", "y"))]
    assert list(found.rows(files)) == rows
    assert found.key() == [repr(replace(found, title=0)), "title=2"]  # older runs keep their fingerprints
    files = put(tmp_path, "Our translations\na b c d\tw x y z\ne f g h\ts t u v\n")
    found = Tsv.recognize(files[0], Hints()).format
    assert found.words() == "tab-separated, columns 1 and 2, title skipped, no header"
    assert next(iter(found.rows(files))) == TextRow(2, ("a b c d", "w x y z"))


@pytest.mark.parametrize("rows", ["a\t\nb\t\nc\tx\n", "\tx\na\ty\nb\tz\n"])
def test_rows_without_a_translation_are_no_titles(rows: str, tmp_path: Path) -> None:
    assert Tsv.recognize(put(tmp_path, rows)[0], Hints(header=False)).format == Tsv(columns=(1, 2))


def test_many_rows_of_one_cell_are_no_titles(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="line 7: has 2 columns, but line 1 has 1"):
        Tsv.recognize(put(tmp_path, "a\n" * 6 + "b\tx\n" * 20)[0], Hints())
