"""The file of suggestions: whole lines, whatever happened before and whoever writes at the same time."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regard.apps.server.messages import Refusal, SuggestCall
from regard.apps.server.suggestions import Suggestions
from regard.base.errors import UsageError


def suggestion(text: str) -> SuggestCall:
    return SuggestCall(q=text, s=text, source="en", target="de")


def test_a_line_that_was_cut_off_costs_no_other(tmp_path: Path) -> None:
    path = tmp_path / "suggestions.jsonl"
    path.write_bytes(b'{"q": "cut')
    Suggestions(path).add(suggestion("whole"))
    cut, whole = path.read_text().splitlines()
    assert (cut, json.loads(whole)["q"]) == ('{"q": "cut', "whole")


def test_lines_of_several_writers_do_not_mix(tmp_path: Path) -> None:
    files = [Suggestions(tmp_path / "suggestions.jsonl") for _ in range(2)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: files[at % 2].add(suggestion(f"{at}\ud800" * 500)), range(100)))
    found = [json.loads(line)["q"] for line in files[0].path.read_text().splitlines()]
    assert sorted(found) == sorted(f"{at}?" * 500 for at in range(100))


def test_a_full_file_refuses(tmp_path: Path) -> None:
    file = Suggestions(tmp_path / "suggestions.jsonl", most_bytes=100)
    file.add(suggestion("a"))
    with pytest.raises(Refusal, match="full"):
        file.add(suggestion("b" * 50))
    assert len(file.path.read_text().splitlines()) == 1


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it is a folder"):
        Suggestions(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        Suggestions(tmp_path / "none" / "suggestions.jsonl")
