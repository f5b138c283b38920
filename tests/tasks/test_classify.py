"""Classification of texts: prepared, trained, evaluated and loaded, with one label, several, and two texts."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.base.errors import ConfigError
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.classifier import Classifier
from regard.models.headed import Headed
from regard.tasks.classify import Classify
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.progress import Progress

WORDS = {"animal": ("cat", "dog", "cow"), "fruit": ("pear", "plum", "fig"), "tool": ("saw", "axe")}
LINES = [f"{label}\tthe {word} is {how}" for label, words in WORDS.items() for word in words for how in ("old", "big")]


def tables(**changes: Any) -> dict[str, Any]:
    return {
        "task": "classify",
        "data": {"train": ["train.tsv"], "dev": ["train.tsv"], **changes.pop("data", {})},
        "subwords": {"kind": "word", "min_count": 1},
        "batches": {"tokens": 64},
        "model": {"name": "bert", "layers": 1, "width": 32, "heads": 2, "dropout": 0.0, "pooling": "mean"},
        "training": {
            "steps": 100,
            "validate_every": 50,
            "metric": "accuracy",
            "optimizer": {"learning_rate": 0.01},
            "schedule": "constant",
            **changes.pop("training", {}),
        },
    }


def write(home: Path, lines: list[str], name: str = "train.tsv") -> None:
    (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def trained(home: Path, **changes: Any) -> Classifier:
    train_run(run_of(tables(**changes), "run"), home / "run", home, Progress())
    loaded = regard.load(home / "run")
    assert isinstance(loaded, Classifier)
    return loaded


def test_it_learns_and_is_evaluated(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    classifier = trained(tmp_path)
    assert classifier.classes == ("animal", "fruit", "tool")
    found = classifier.classify([["the dog is big"], ["the axe is old"]])
    assert [one.labels for one in found] == [("animal",), ("tool",)]
    out = tmp_path / "out.txt"
    scores = Classify.evaluate(classifier, [tmp_path / "train.tsv"], Evaluation(out=out))
    assert [str(score) for score in scores[:3]] == [
        "accuracy 100.00 %",
        "macro F1 100.00 %",
        "Matthews correlation 1.0000",
    ]
    assert out.read_text(encoding="utf-8").splitlines() == [line.split("\t")[0] for line in LINES]
    logged = [json.loads(line) for line in (tmp_path / "run/log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {"accuracy", "macro_f1", "matthews", "calibration"} <= {key for line in logged for key in line}


def test_several_labels(tmp_path: Path) -> None:
    both = [
        f"{label},{how}\tthe {word} is {how}"
        for label, words in WORDS.items()
        for word in words
        for how in ("old", "big")
    ]
    write(tmp_path, [*both, "\tthe is"])
    classifier = trained(tmp_path, data={"labels": "several"}, training={"loss": {"weights": "balanced"}, "steps": 150})
    assert {frozenset(one.labels) for one in classifier.classify([["the dog is big"]])} == {
        frozenset({"animal", "big"})
    }
    assert classifier.classify([["the is"]])[0].labels == ()
    scores = Classify.evaluate(classifier, [tmp_path / "train.tsv"], Evaluation())
    assert [score.name for score in scores] == ["accuracy", "macro F1", "calibration error"]


def test_two_texts(tmp_path: Path) -> None:
    """The second one decides, so that they must be told apart."""
    words = [(label, word) for label, group in WORDS.items() for word in group]
    write(tmp_path, [f"{label}\t{one}\t{other}" for _, one in words for label, other in words])
    classifier = trained(tmp_path)
    found = classifier.classify([("dog", "plum"), ("plum", "dog")])
    assert [one.labels for one in found] == [("fruit",), ("animal",)]


def test_balanced_weights_make_rare_classes_count(tmp_path: Path) -> None:
    write(tmp_path, ["a\tx"] * 9 + ["b\ty"])
    for weights, expected in (("even", {1.0}), ("balanced", {10 / 18, 5.0})):
        run = run_of(tables(training={"loss": {"weights": weights}}), "run")
        prepared = run.task.prepare(tmp_path, tmp_path)
        seen = {round(weight, 5) for item in prepared.train.all() for weight in item.weights.tolist()}  # type: ignore[attr-defined]
        assert seen == {round(weight, 5) for weight in expected}


@pytest.mark.parametrize("labels", ["one", "several"])
def test_a_label_that_training_did_not_see_is_an_error_of_the_model(tmp_path: Path, labels: str) -> None:
    write(tmp_path, LINES)
    write(tmp_path, ["animal\tthe cat", "stone\tthe rock", "stone\tthe gem"], "dev.tsv")
    task: Any = run_of(tables(data={"dev": ["dev.tsv"], "labels": labels}), "run").task
    prepared = task.prepare(tmp_path, tmp_path)
    warning = "dev.tsv: the label stone (2 examples) does not occur in the training data, so each counts as an error"
    assert warning in prepared.notes[0]

    class Always(Headed):
        """Says animal, whatever it reads."""

        def forward(self, tokens: Any, *more: Any) -> Any:
            return torch.tensor([[9.0 if label == "animal" else -9.0 for label in prepared.classes]] * len(tokens))

        def encode(self, *inputs: Any, **more: Any) -> Any:
            raise NotImplementedError

    model = Always()
    model.weight = torch.nn.Parameter(torch.zeros(()))
    found = task.metrics(model, prepared)
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["loss"] < 10
    told: list[str] = []
    opened = Classifier(model, Subwords.from_json(prepared.tokenizers["text"]), prepared.classes, labels=labels)
    scores = Classify.evaluate(opened, [tmp_path / "dev.tsv"], Evaluation(warn=told.append))
    assert scores[0].value == pytest.approx(100 / 3)
    assert warning in told[0]


def test_the_dev_set_has_as_many_texts_as_the_training_data(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    write(tmp_path, ["animal\tthe cat\tthe dog"], "dev.tsv")
    with pytest.raises(ConfigError, match=r"data.dev: .* has 2 texts a line, but data.train has 1"):
        run_of(tables(data={"dev": ["dev.tsv"]}), "run").task.prepare(tmp_path, tmp_path)


def test_a_validation_reads_each_text_once(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    run = run_of(tables(), "run")
    prepared: Any = run.task.prepare(tmp_path, tmp_path)
    model, read = run.model.build(prepared.sizes), []
    model.register_forward_pre_hook(lambda own, given: read.append(len(given[0])))
    with torch.no_grad():
        found = run.task.metrics(model, prepared)
        losses = [run.task.loss(model, item) for item in prepared.dev]
    assert sum(read) == 2 * len(LINES)
    assert found["loss"] == pytest.approx(sum(one.total.item() for one in losses) / len(LINES))


def test_a_model_that_writes_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"model.name: transformer learns from source and target, but the task classify"
    ):
        run_of(tables() | {"model": {"name": "transformer"}}, "run")
