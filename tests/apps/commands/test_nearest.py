"""The nearest lines to a query."""

import json
from pathlib import Path

from tests.apps.commands.test_predict import written
from tests.apps.running import Run

POOLED = ("--pooling", "mean")  # the first token of an untrained model knows little of the others


def test_the_line_itself_is_the_nearest(tmp_path: Path, run: Run) -> None:
    model = str(written(tmp_path, "embed"))
    (tmp_path / "lines.txt").write_text("the cat sat\na dog ran over the hill\nthe mat\n", encoding="utf-8")
    lines = run("nearest", model, str(tmp_path / "lines.txt"), "a dog ran over the hill", "--top", "2", *POOLED).lines
    assert len(lines) == 2
    assert lines[0] == "1.0000\t2\ta dog ran over the hill"
    found = run("nearest", model, str(tmp_path / "lines.txt"), "--json", *POOLED, stdin="the mat\nthe cat sat\n").lines
    assert [json.loads(line)["nearest"][0]["line"] for line in found] == [3, 1]
    assert [len(json.loads(line)["nearest"]) for line in found] == [3, 3]
    several = run("nearest", model, str(tmp_path / "lines.txt"), "the mat", "the cat sat", "--top", "1", *POOLED).lines
    assert several[0] == "the mat:" and several[2] == "the cat sat:"


def test_without_a_query(tmp_path: Path, run: Run) -> None:
    (tmp_path / "lines.txt").write_text("the cat\n", encoding="utf-8")
    done = run("nearest", str(written(tmp_path, "embed")), str(tmp_path / "lines.txt"), stdin="")
    assert done.code == 2
    assert "there is no query" in done.sentence
