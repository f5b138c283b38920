"""Held-out examples: always the same, equal texts go the same way, and nothing is lost."""

import json
from pathlib import Path

from regard.data.labeled_files import read_labeled
from regard.data.tags import TaggedSentence, read_tagged
from regard.tasks.held_out_examples import split_examples, split_sentences
from regard.tasks.task import Wishes


def test_examples(tmp_path: Path) -> None:
    rows = [(f"l{at % 3}", f"text, number {at // 2}") for at in range(100)]
    table = tmp_path / "a.csv"
    table.write_text("label,text\n" + "".join(f'{label},"{text}"\n' for label, text in rows), encoding="utf-8")
    wishes = Wishes(out=tmp_path / "run.toml")
    places, written = split_examples(table, read_labeled(table), wishes, "a")
    lines = {part: written[place].splitlines() for part, place in places.items()}
    assert sorted(lines["train"] + lines["dev"]) == sorted("\t".join(row) for row in rows)
    texts = {part: {line.split("\t")[1] for line in own} for part, own in lines.items()}
    assert texts["dev"] and not texts["dev"] & texts["train"]
    assert (places, written) == split_examples(table, read_labeled(table), wishes, "a")
    assert split_examples(table, read_labeled(table), Wishes(hold_out=0), "a") == ({"train": table}, {})


def test_sentences(tmp_path: Path) -> None:
    sentences = [TaggedSentence((f"w{at}", "runs"), ("N", "V"), at) for at in range(60)]
    for name in ("a.txt", "a.jsonl"):
        places, written = split_sentences(tmp_path / name, sentences, Wishes(out=tmp_path / "run.toml"), "a")
        for place, text in written.items():
            place.write_text(text, encoding="utf-8")
        found = [(one.words, one.tags) for place in places.values() for one in read_tagged(place)]
        assert sorted(found) == sorted((one.words, one.tags) for one in sentences)
    assert json.loads((tmp_path / "a-dev.jsonl").read_text().splitlines()[0]).keys() == {"words", "tags"}
