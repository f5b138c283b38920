import json
from pathlib import Path

import pytest

from regard.apps.cli import main
from regard.base.errors import ConfigError, RegardError
from regard.decoding.set_predictor import SetPredictor
from regard.loading import load
from regard.tasks.run import read_run

RUN = """
name = "sets"
task = "sets"
[data]
problem = "maximum(5)"
batch = 32
validation = 100
[model]
name = "deep_sets"
width = 16
layers = 2
pool = "max"
[training]
steps = 60
validate_every = 60
checkpoint_every = 60
metric = "error"
[training.optimizer]
learning_rate = 0.02
[training.schedule]
name = "cosine"
warmup = 10
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(RUN, encoding="utf-8")
    rows = [{"elements": [[at % 3], [at % 5]], "target": "even" if at % 2 else "odd"} for at in range(20)]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_a_maximum_is_learned_evaluated_and_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "run.toml"]) == 0
    Path("test.jsonl").write_text('{"elements": [20, 70, 30], "target": 70}\n', encoding="utf-8")
    assert main(["evaluate", "runs/sets", "test.jsonl", "--out", "told.jsonl"]) == 0
    printed = capsys.readouterr().out
    assert float(printed.split("error ")[-1].split()[0]) < 15
    assert abs(json.loads(Path("told.jsonl").read_text(encoding="utf-8"))["answer"] - 70) < 15
    assert main(["predict", "runs/sets", "test.jsonl"]) == 0
    assert abs(float(capsys.readouterr().out) - 70) < 15
    assert isinstance(load("runs/sets"), SetPredictor)


def test_ones_own_sets_are_advised_and_learned(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "own.jsonl", "--dev", "own.jsonl", "--out", "own.toml"]) == 0
    assert "20 sets of 2 to 2 elements of 1 numbers, each with a class: set_transformer" in capsys.readouterr().out
    small = ["training.steps=2", "training.validate_every=2", "training.schedule.warmup=1", "model.width=8"]
    assert main(["train", "own.toml", *(part for one in small for part in ("--set", one))]) == 0
    assert main(["evaluate", "runs/own", "own.jsonl"]) == 0
    assert "accuracy" in capsys.readouterr().out
    (place / "other.jsonl").write_text('{"elements": [[1], [2]], "target": "prime"}\n', encoding="utf-8")
    assert main(["evaluate", "runs/own", "other.jsonl"]) == 1
    assert "the class 'prime' is not among those of the training data: even, odd" in capsys.readouterr().err


def prepared(place: Path, *changes: str) -> object:
    return read_run(place / "run.toml", changes).task.prepare(place, place)


@pytest.mark.parametrize(
    ("problem", "outputs", "scores"),
    [("unique(3, 2)", 1, {"accuracy", "error"}), ("clusters(6, 5, clusters=2)", 10, {"likelihood", "behind"}),
     ("digit_sum(2)", 1, {"error"})],
)  # fmt: skip
def test_every_problem_has_its_goal(problem: str, outputs: int, scores: set[str], place: Path) -> None:
    run = read_run(place / "run.toml", [f"data.problem={problem}"])
    found = run.task.prepare(place, place)
    assert found.sizes["outputs"] == outputs
    model = run.model.build(found.sizes)
    assert scores | {"loss"} == run.task.metrics(model, found).keys()


def test_mistakes_are_one_sentence(place: Path) -> None:
    with pytest.raises(ConfigError, match="data: set either problem, to generate examples, or train"):
        prepared(place, "data.problem=none")
    own = ("data.problem=none", 'data.train=["own.jsonl"]')
    with pytest.raises(ConfigError, match=r"data\.goal: number, but the targets are classes"):
        prepared(place, *own, "data.goal=number")
    (place / "own.jsonl").write_text('{"elements": [[1]], "target": 1.5}\n', encoding="utf-8")
    with pytest.raises(RegardError, match=r"data\.goal: a count is a whole number from 0, but a target is"):
        prepared(place, *own, "data.goal=count")
    (place / "own.jsonl").write_text('{"elements": [[1]], "target": "a"}\n', encoding="utf-8")
    with pytest.raises(RegardError, match="there must be at least two classes, but there is only 'a'"):
        prepared(place, *own)
