"""Plain text in one or two files."""

from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.format import Hints, TextRow
from regard.data.formats.text import Text


def test_two_files_are_read_side_by_side(tmp_path: Path) -> None:
    files = [tmp_path / "a.en", tmp_path / "a.de"]
    files[0].write_text("one\ttwo\n\n", encoding="utf-8")
    files[1].write_text("eins\r\nzwei\n", encoding="utf-8")
    text = Text()
    assert list(text.rows(files)) == [TextRow(1, ("one\ttwo", "eins")), TextRow(2, ("", "zwei"))]
    assert list(text.rows(files[:1])) == [TextRow(1, ("one\ttwo",)), TextRow(2, ("",))]
    assert (text.sides(files), text.sides(files[:1])) == (2, 1)
    assert text.place(files, 2, 1) == f"{files[1]}, line 2"
    files[0].write_text("one\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"a\.en has 1 line but .*a\.de has 2;"):
        list(text.rows(files))


def test_the_name_tells_the_language() -> None:
    assert Text.recognize(Path("train.de.gz"), Hints()).source == "de"
    assert Text.recognize(Path("train.de.gz"), Hints(source="gsw")).source == "gsw"
