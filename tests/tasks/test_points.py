import json
from pathlib import Path

import numpy as np
import pytest

from regard.apps.cli import main
from regard.base.errors import ConfigError, RegardError
from regard.data.problems.hull import Hull
from regard.decoding.point_solver import PointSolver
from regard.loading import load
from regard.tasks.run import read_run

RUN = """
name = "points"
task = "points"
[data]
problem = "sorting(3)"
batch = 64
validation = 100
[model]
name = "pointer"
width = 24
heads = 2
encoder_layers = 1
decoder_layers = 1
frequencies = 2
[training]
steps = 80
validate_every = 40
checkpoint_every = 80
metric = "exact"
[training.optimizer]
learning_rate = 0.003
[training.schedule]
name = "cosine"
warmup = 10
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(RUN, encoding="utf-8")
    points = np.random.default_rng(5).random((40, 5, 2)) * 100
    rows = [{"points": own.tolist(), "answer": [at for at in row.tolist() if at >= 0]}
            for own, row in zip(points, Hull(5).solve(points), strict=True)]  # fmt: skip
    (tmp_path / "hulls.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path


def test_sorting_is_learned_evaluated_and_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "run.toml"]) == 0
    lines = ['{"points": [0.9, 0.1, 0.5], "answer": [1, 2, 0]}'] * 3
    Path("test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["evaluate", "runs/points", "test.jsonl", "--out", "told.jsonl", "--beam", "2"]) == 0
    printed = capsys.readouterr().out
    assert "exact 100.00 %" in printed
    assert "valid 100.00 %" in printed
    assert json.loads(Path("told.jsonl").read_text(encoding="utf-8").splitlines()[0]) == {"answer": [1, 2, 0]}
    assert main(["predict", "runs/points", "test.jsonl"]) == 0
    assert capsys.readouterr().out.splitlines() == ["1 2 0"] * 3
    solver = load("runs/points", "beam(size=2)", expect=PointSolver)
    assert solver.beam == 2
    assert str(solver.problem) == "Sorting(size=3, smallest=None)"


def test_ones_own_data_are_advised_and_learned(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "hulls.jsonl", "--dev", "hulls.jsonl", "--out", "own.toml"]) == 0
    assert "answers of 3 to 5 positions: a pointer network" in capsys.readouterr().out
    small = ["training.steps=4", "training.validate_every=2", "training.schedule.warmup=1", "model.width=16"]
    assert main(["train", "own.toml", *(part for one in small for part in ("--set", one))]) == 0
    solver = load("runs/hulls", expect=PointSolver)
    assert solver.rule.repeats == "at_most_once"
    assert solver.rule.fewest == 3
    assert solver.box.span > 90
    assert main(["evaluate", "runs/hulls", "hulls.jsonl"]) == 0
    assert "valid 100.00 %" in capsys.readouterr().out


def prepared(place: Path, *changes: str) -> object:
    return read_run(place / "run.toml", changes).task.prepare(place, place)


def test_validation_is_drawn_apart_from_training(place: Path) -> None:
    found = prepared(place)
    assert len(found.dev_points) == 100
    assert sum(len(item.lengths) for item in found.dev) == 128
    _, first = next(found.train.walk())
    assert not np.isclose(first.points.numpy()[:, None], found.dev[0].points.numpy()[None]).all((2, 3)).any()


def test_mistakes_are_one_sentence(place: Path) -> None:
    with pytest.raises(ConfigError, match="data: set either problem, to generate examples, or train"):
        prepared(place, 'data.train=["hulls.jsonl"]')
    with pytest.raises(RegardError, match=r"hulls.jsonl, line \d+: the answer has \d positions, but there must be 5"):
        prepared(place, 'data.train=["hulls.jsonl"]', "data.problem=none", "data.rule.repeats=all_once")
    with pytest.raises(ConfigError, match=r"data.problem: unknown 'hul' \(did you mean 'hull'\?\)"):
        prepared(place, "data.problem=hul")
    with pytest.raises(ConfigError, match="tour: size must be at most 12, but is 13"):
        prepared(place, "data.problem=tour(13)")
