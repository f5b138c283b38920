import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.apps.cli import main
from regard.base.errors import RegardError
from regard.decoding.node_classifier import NodeClassifier
from regard.loading import load
from regard.tasks.run import read_run

from .graph_run import write_graph


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_graph(tmp_path)
    return tmp_path


def test_a_graph_is_learned_and_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "run.toml"]) == 0
    assert main(["evaluate", "runs/groups", "graph.npz", "--out", "told.tsv"]) == 0
    printed = capsys.readouterr().out
    assert float(printed.split("accuracy ")[-1].split()[0]) >= 85
    assert "of 20 nodes" in printed
    assert (place / "told.tsv").read_text(encoding="utf-8").count("\n") == 40
    classifier = load("runs/groups")
    assert isinstance(classifier, NodeClassifier)
    told = classifier.predict("graph.npz")
    assert [one.node for one in told] == [str(node) for node in range(40)]
    assert all(abs(sum(one.probabilities.values()) - 1) < 1e-5 for one in told)
    capsys.readouterr()
    assert main(["predict", "runs/groups", "graph.npz"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{one.label}\t{one.probabilities[one.label]:.4f}\t{one.node}" for one in told]
    assert main(["predict", "runs/groups", "graph.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[3])["node"] == "3"


def test_stopped_and_resumed_it_ends_with_the_same_bytes(place: Path) -> None:
    assert main(["train", "run.toml"]) == 0
    assert main(["train", "run.toml", "--set", "name=parts", "--set", "training.steps=20"]) == 0
    assert main(["train", "run.toml", "--set", "name=parts"]) == 0
    whole, parts = (place / "runs" / name / "model.safetensors" for name in ("groups", "parts"))
    one, other = (torch.nn.ModuleList(load(path).models).state_dict() for path in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_doctor_and_compare_know_it(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "run.toml", "--seconds", "1"]) == 0
    assert "40 nodes" in capsys.readouterr().out


def prepared(place: Path, *changes: str) -> object:
    run = read_run(place / "run.toml", changes)
    (place / "work").mkdir(exist_ok=True)
    return run.task.prepare(place / "work", place)


def test_without_a_split_every_label_is_learned(place: Path) -> None:
    write_graph(place, train=None, dev=None, test=None)
    found = prepared(place)
    assert found.train.epoch() == (1, 40)
    assert not found.dev


def test_without_a_split_some_labels_can_be_held_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_graph(place, train=None, dev=None, test=None)
    found = prepared(place, "data.hold_out=0.25")
    (train,), (dev,) = found.train.graphs, found.dev
    assert (train.count, dev.count) == (30, 10)
    assert not (train.chosen & dev.chosen).any()
    assert [int((dev.labels[dev.chosen] == at).sum()) for at in (0, 1)] == [5, 5]  # of each class
    assert prepared(place, "data.hold_out=0.99").train.epoch() == (1, 2)  # one of each class still trains
    assert main(["train", "run.toml", "--set", "data.hold_out=0.25", "--set", "training.steps=2"]) == 0
    assert main(["evaluate", "runs/groups", "graph.npz"]) == 0
    assert "of 10 nodes" in capsys.readouterr().out
    (place / "other").mkdir()
    write_graph(place / "other", train=None, dev=None, test=None, nodes=44)
    assert main(["evaluate", "runs/groups", "other/graph.npz"]) == 0
    assert "of 44 nodes" in capsys.readouterr().out  # none of which was seen


def test_another_graph_can_validate(place: Path) -> None:
    (place / "graph.npz").rename(place / "dev.npz")
    write_graph(place, train=None, dev=None, test=None)
    found = prepared(place, 'data.dev=["dev.npz"]')
    assert found.train.epoch()[1] == 40
    assert found.dev[0].count == 40


def test_rows_are_scaled(place: Path) -> None:
    write_graph(place, features=np.array([[1.0, 3.0]] * 39 + [[0.0, 0.0]]))
    rows = prepared(place, "data.scaling=rows").train.graphs[0].features
    assert rows[0].tolist() == [0.25, 0.75]
    assert rows[-1].tolist() == [0.0, 0.0]


def test_directed_edges_stay_directed(place: Path) -> None:
    both, one = (prepared(place, f"data.directions={way}").train.graphs[0] for way in ("both", "as_given"))
    assert both.edges.shape[1] == 2 * one.edges.shape[1]


def test_mistakes_are_one_sentence(place: Path) -> None:
    write_graph(place, labels=np.zeros(40, dtype=int))
    with pytest.raises(RegardError, match="there must be at least two classes to tell apart, but there are 1"):
        prepared(place)
    write_graph(place, train=np.array([], dtype=int))
    with pytest.raises(RegardError, match="no node of the training split has a label"):
        prepared(place)


def test_a_class_that_was_never_learned_is_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "run.toml", "--set", "training.steps=1"]) == 0
    write_graph(place, labels=np.arange(40) % 3)
    assert main(["evaluate", "runs/groups", "graph.npz"]) == 1
    assert "graph.npz: the class '2' was not in the training graph, which has: 0, 1" in capsys.readouterr().err
