"""Several heads on one encoder: their losses are joined as the formula says, and each works by itself."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.apps.cli import main
from regard.base.errors import ConfigError, UsageError
from regard.decoding.multitasker import Multitasker
from regard.decoding.tagger import Tagger
from regard.tasks.multitask import HeadSettings, Multitask
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.progress import Progress

NOUNS, VERBS = ("cat", "dog", "bird"), ("sleeps", "barks", "sings")
TAGGED = [f"the DT B-NP\n{noun} NN I-NP\n{verb} VB O\n" for noun in NOUNS for verb in VERBS]
LABELED = [f"{'loud' if verb != 'sleeps' else 'quiet'}\tthe {noun} {verb}" for noun in NOUNS for verb in VERBS]


def tables(**changes: Any) -> dict[str, Any]:
    return {
        "task": "multitask",
        "heads": {
            "chunk": {"task": "tag", "data": {"train": ["words.txt"], "dev": ["words.txt"]}},
            "pos": {"task": "tag", "weight": 0.5, "data": {"train": ["words.txt"], "dev": ["words.txt"], "column": 2}},
            "mood": {"task": "classify", "data": {"train": ["mood.tsv"], "dev": ["mood.tsv"]}},
        },
        "subwords": {"kind": "word", "min_count": 1},
        "batches": {"tokens": 20},
        "model": {"name": "bert", "layers": 1, "width": 16, "heads": 2, "dropout": 0.0, "pooling": "mean"},
        "training": {"steps": 40, "validate_every": 20, "optimizer": {"learning_rate": 0.02}, "schedule": "constant"},
        **changes,
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "words.txt").write_text("\n".join(TAGGED), encoding="utf-8")
    (tmp_path / "mood.tsv").write_text("\n".join(LABELED) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("weighing", ["fixed", "uncertainty"])
def test_losses_are_joined_as_the_formula_says(weighing: str, home: Path) -> None:
    table = tables(batches={"tokens": 60})
    table["training"]["loss"] = {"weighing": weighing}
    run = run_of(table, "run")
    task: Any = run.task
    prepared = task.prepare(home, home)
    torch.manual_seed(1)
    model: Any = run.model.build(prepared.sizes).double()
    doubts = {"chunk": 0.3, "pos": -0.7, "mood": 0.1}
    if weighing == "uncertainty":
        for name, doubt in doubts.items():
            torch.nn.init.constant_(model.head.log_variance[name], doubt)
    _, item = next(prepared.train.walk())
    expected = 0.0
    for name, weight in (("chunk", 1.0), ("pos", 0.5), ("mood", 1.0)):
        own = item.items[name]
        logits = model.head.heads[name](*model.encode(*own.texts.parts)).log_softmax(-1).detach()
        if name == "mood":
            mean = -sum(float(logits[at, label]) for at, label in enumerate(own.labels)) / len(own.labels)
        else:
            asked = [(row, at) for row, at in (own.tags >= 0).nonzero().tolist()]
            mean = -sum(float(logits[row, at, own.tags[row, at]]) for row, at in asked) / len(asked)
        scaled = mean if weighing == "fixed" else math.exp(-doubts[name]) * mean + doubts[name] / 2
        expected += weight * scaled
    found = task.loss(model, item)
    assert float(found.total) / found.count == pytest.approx(expected, rel=1e-9)
    shares = item.shares(2)
    assert len(shares) == 2
    assert sum(float(task.loss(model, share).total) for share in shares) == pytest.approx(float(found.total), rel=1e-9)
    assert sum(task.loss(model, share).count for share in shares) == found.count
    found.total.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_heads_learn_and_work_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tables()
    table["training"] |= {"loss": {"weighing": "uncertainty"}, "metric": "chunk_f1"}
    train_run(run_of(table, "run"), home / "run", home, Progress())
    opened = regard.load(home / "run", expect=Multitasker)
    scores = Multitask.evaluate(opened, [home / "words.txt", home / "words.txt", home / "mood.tsv"], Evaluation())
    named = {score.name: score.value for score in scores}
    assert named["chunk F1"] == named["pos accuracy"] == named["mood accuracy"] == 100
    (answer,) = opened.predict(["the dog barks"])
    assert answer.text == "B-NP I-NP O\tDT NN VB\tloud"
    assert opened.embed(["the dog barks"]).shape == (1, 16)
    alone = regard.load(home / "run" / "pos.safetensors", expect=Tagger)
    assert alone.tag([["the", "dog"]]) == opened.head("pos").tag([["the", "dog"]]) == [["DT", "NN"]]
    assert main(["evaluate", str(home / "run" / "pos.safetensors"), str(home / "words.txt")]) == 0
    assert "accuracy 100" in capsys.readouterr().out
    with pytest.raises(UsageError, match="or one for each of: chunk, pos, mood"):
        Multitask.evaluate(opened, [home / "words.txt"] * 2, Evaluation())


def test_bad_settings(home: Path) -> None:
    one = {"chunk": tables()["heads"]["chunk"]}
    with pytest.raises(ConfigError, match="two at least, but there are 1"):
        run_of(tables(heads=one), "run")
    with pytest.raises(ConfigError, match=r"must be of letters, digits and _, but one is 'a\.b'"):
        run_of(tables(heads={"a.b": one["chunk"], **one}), "run")
    with pytest.raises(ConfigError, match="weight must be more than 0"):
        HeadSettings(task="tag", data={"train": ["x"]}, weight=0.0)
    with pytest.raises(ConfigError, match="unknown 'labels'"):
        HeadSettings(task="tag", data={"train": ["x"], "labels": "one"})
    (home / "words.txt").write_text("the DT\n", encoding="utf-8")
    table = tables()
    table["heads"]["chunk"]["data"]["column"] = 3
    with pytest.raises(regard.RegardError, match="line 1: has 2 columns, so no tag in column 3"):
        run_of(table, "run").task.prepare(home, home)
