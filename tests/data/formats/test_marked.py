"""Lines parted by a mark: `a ||| b`, and `IN: a OUT: b`."""

from pathlib import Path

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.formats.marked import Marked


def texts(form: Marked, path: Path) -> list[tuple[str, ...]]:
    return [row.texts for row in form.rows([path])]


def test_cells_lose_the_white_space_around_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("a cat|||eine Katze\n\n  a dog |||  ein Hund \n", encoding="utf-8")
    assert texts(Marked(), path) == [("a cat", "eine Katze"), ("", ""), ("a dog", "ein Hund")]
    assert Marked().words() == "lines parted by |||, columns 1 and 2, no header"


def test_labels_are_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "scan.txt"
    path.write_text("IN: jump OUT: I_JUMP\nIN: say IN: twice OUT: I_SAY OUT: two\n", encoding="utf-8")
    assert texts(Marked(first="IN:", between="OUT:"), path) == [("jump", "I_JUMP"), ("say IN: twice", "I_SAY OUT: two")]


def test_a_line_that_is_not_parted_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scan.txt"
    path.write_text("IN: jump OUT: I_JUMP\nIN: jump\nOUT: I_JUMP\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"scan\.txt, line 2: has 1 column, but line 1 has 2"):
        texts(Marked(first="IN:", between="OUT:"), path)
    path.write_text("IN: jump OUT: I_JUMP\nI_JUMP\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"scan\.txt, line 2: does not begin with IN: as the others do"):
        texts(Marked(first="IN:", between="OUT:"), path)


def test_a_mark_must_be_seen() -> None:
    with pytest.raises(ConfigError, match="between: must be a mark that is seen"):
        Marked(between=" ")
