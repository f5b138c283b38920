"""Tagging: prepared, trained, evaluated and loaded."""

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.base.errors import RegardError
from regard.decoding.tagger import Tagger
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.tag import Tag
from regard.tasks.task import Evaluation
from regard.training.progress import Progress

NOUNS, VERBS = ("cat", "dog", "cow"), ("sees", "hears")
SENTENCES = [(f"the {one}", verb, f"a {other}") for one in NOUNS for verb in VERBS for other in NOUNS]
TEXT = "\n".join(
    "".join(f"{word} {tag}\n" for part, kind in zip(parts, ("NP", "VP", "NP"), strict=True)
            for word, tag in zip(part.split(), (f"B-{kind}", f"I-{kind}"), strict=False))
    for parts in SENTENCES
)  # fmt: skip
TABLES: dict[str, Any] = {
    "task": "tag",
    "data": {"train": ["train.txt"], "dev": ["train.txt"]},
    "subwords": {"kind": "character"},
    "batches": {"tokens": 256},
    "model": {"name": "bert", "layers": 1, "width": 32, "heads": 2, "dropout": 0.0},
    "training": {
        "steps": 80,
        "validate_every": 40,
        "metric": "f1",
        "optimizer": {"learning_rate": 0.01},
        "schedule": "constant",
    },
}


def test_it_learns_and_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(TEXT, encoding="utf-8")
    train_run(run_of(TABLES, "run"), tmp_path / "run", tmp_path, Progress())
    tagger = regard.load(tmp_path / "run")
    assert isinstance(tagger, Tagger)
    assert tagger.tag([["the", "cow", "sees", "a", "dog"]]) == [["B-NP", "I-NP", "B-VP", "B-NP", "I-NP"]]
    scores = Tag.evaluate(tagger, [tmp_path / "train.txt"], Evaluation(out=tmp_path / "out.txt"))
    assert [str(score) for score in scores] == ["F1 100.00 % of chunks", "accuracy 100.00 % of words"]
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()[0] == "B-NP I-NP B-VP B-NP I-NP"


def test_a_tag_of_the_dev_set_alone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "dev.txt").write_text("the DT\n", encoding="utf-8")
    tables = TABLES | {"data": {"train": ["train.txt"], "dev": ["dev.txt"]}}
    with pytest.raises(RegardError, match=r"dev.txt, line \d: the tag 'DT' does not occur in the training data"):
        run_of(tables, "run").task.prepare(tmp_path, tmp_path)
