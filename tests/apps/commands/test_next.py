"""regard next, as it is called."""

import json
from pathlib import Path

from tests.apps.running import Run


def test_a_table_has_words_probabilities_and_what_was_looked_at(home: Path, run: Run) -> None:
    lines = run("next", "runs/lm", "das grosse haus", "--count", 4).lines
    shares = [float(line.split()[1].rstrip("%")) for line in lines[:4]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 100.1
    assert "█" in lines[0]
    assert [line for line in lines if line.startswith("looked at")] or len(lines) == 4


def test_json_and_a_page(home: Path, run: Run) -> None:
    found = json.loads("\n".join(run("next", "runs/lm", "das grosse", "--json", "--page", "next.html").lines))
    assert (found["text"], found["model"], len(found["next"])) == ("das grosse", "lm", 10)
    page = (home / "next.html").read_text(encoding="utf-8")
    assert page.count('"effect":') == sum(len(heads) for heads in found["effects"].values())
    assert "das grosse …" in (home / "next.html").read_text(encoding="utf-8")
    run("inspect", "runs/lm", "das grosse haus", "--out", "read.html")
    assert "das grosse haus" in (home / "read.html").read_text(encoding="utf-8")


def test_mistakes_are_told_in_a_sentence(home: Path, run: Run) -> None:
    assert "a translation model" in run("next", "runs/en-de", "the dog").sentence
    assert "is not UTF-8" in run("next", "runs/lm", "\udcff").sentence
