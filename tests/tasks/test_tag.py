"""Tagging: prepared, trained, evaluated and loaded."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

import regard
from regard.base.errors import UsageError
from regard.decoding.tagger import Tagger
from regard.models.headed import Headed
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.tag import PreparedTags, Tag
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


def test_tags_are_judged_together_and_words_may_have_a_factor(tmp_path: Path) -> None:
    """The word says nothing here: a tag follows from the factor and from the tag before."""
    lines = "".join(
        f"x {factor} {tag}\n" for factor, tag in (("N", "B-NP"), ("N", "I-NP"), ("V", "B-VP"), ("N", "B-NP"))
    )
    (tmp_path / "train.txt").write_text(f"{lines}\n" * 8, encoding="utf-8")
    training = TABLES["training"] | {"loss": {"transitions": "learned"}, "steps": 40}
    data = {"train": ["train.txt"], "dev": ["train.txt"], "factor": 2}
    tables = TABLES | {"data": data, "training": training, "model": TABLES["model"] | {"positions": "none"}}
    train_run(run_of(tables, "run"), tmp_path / "run", tmp_path, Progress())
    tagger = regard.load(tmp_path / "run", expect=Tagger)
    assert tagger.model.chain is not None
    (found,) = tagger.predict(["x|N x|N x|V x|N"])
    assert found.text == "B-NP I-NP B-VP B-NP"
    (best,) = Tag.evaluate(tagger, [tmp_path / "train.txt"], Evaluation())[:1]
    assert best.value == 100
    with pytest.raises(UsageError, match=r"write word\|factor, not x"):
        tagger.predict(["x x"])
    with pytest.raises(UsageError, match="sentence 1 needs a factor for each word, such as N"):
        tagger.tag([["x"]])


def test_a_tag_that_training_did_not_see_is_an_error_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "dev.txt").write_text("the B-NP\ndog I-LST\nsees B-VP\n", encoding="utf-8")
    task = run_of(TABLES | {"data": {"train": ["train.txt"], "dev": ["dev.txt"]}}, "run").task
    assert isinstance(task, Tag)
    prepared = task.prepare(tmp_path, tmp_path)
    warning = "dev.txt: the tag I-LST (1 word) does not occur in the training data, so each counts as an error"
    assert warning in prepared.notes[0]
    always_right = _Knowing(prepared)
    assert task.metrics(always_right, prepared)["accuracy"] == pytest.approx(2 / 3)
    told: list[str] = []
    tagger = Tagger(always_right, prepared.subwords, prepared.tags)
    scores = Tag.evaluate(tagger, [tmp_path / "dev.txt"], Evaluation(warn=told.append))
    assert [score.value for score in scores] == pytest.approx([100 * 2 * 2 / (3 + 3), 100 * 2 / 3])
    assert warning in told[0]


class _Knowing(Headed):
    """Gives each first token of a word its tag in the dev set, and the first tag where that is unknown."""

    def __init__(self, prepared: PreparedTags) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        (self.item,) = prepared.dev
        self.classes = len(prepared.tags)

    def encode(self, *inputs: Any, **more: Any) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def forward(self, *inputs: Any, **more: Any) -> Tensor:
        return one_hot(self.item.tags.clamp(min=0), self.classes).float()  # type: ignore[attr-defined]
