"""Links: read and written."""

from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.links import Gold, Link, parse_gold, parse_links, read_gold, to_pharaoh


def test_what_is_written_is_read_again() -> None:
    text = "0-0 2-1 11-1 1-10"
    assert to_pharaoh(parse_links(text)) == text
    assert to_pharaoh((Link(1, 2, 0.5), Link(1, 2, 0.7), Link(0, 0))) == "0-0 1-2"
    assert parse_gold("0-0  1?2\t3-3") == Gold(frozenset({(0, 0), (3, 3)}), frozenset({(0, 0), (1, 2), (3, 3)}))
    assert parse_links("1?2 0-0") == (Link(0, 0), Link(1, 2))
    assert parse_links("") == ()


def test_a_file_is_read_and_its_faults_are_named(tmp_path: Path) -> None:
    file = tmp_path / "gold.links"
    file.write_text("0-0 1?1\n\n2-1\n", encoding="utf-8")
    assert read_gold(file) == [parse_gold("0-0 1?1"), parse_gold(""), parse_gold("2-1")]
    sizes = [(2, 2), (1, 1), (3, 2)]
    assert read_gold(file, sizes)[0].sure == {(0, 0)}
    with pytest.raises(RegardError, match=r"gold\.links: has 3 lines of links for 2 sentence pairs; it needs as many$"):
        read_gold(file, sizes[:2])
    with pytest.raises(RegardError, match=r"gold\.links, line 3: the link 2-1 names source word 2, but .* 2 words"):
        read_gold(file, [(2, 2), (1, 1), (2, 2)])
    with pytest.raises(RegardError, match=r"line 3: the link 2-1 names target word 1, but the sentence has 1 words"):
        read_gold(file, [(2, 2), (1, 1), (3, 1)])
    for fault in ("0-", "a-b", "0:1", "-1-2", "1-2-3", "0,0"):
        file.write_text(f"0-0\n1-1 {fault}\n", encoding="utf-8")
        with pytest.raises(RegardError, match=rf"gold\.links, line 2: '{fault}' is no link; write 3-4, or 3\?4"):
            read_gold(file)
