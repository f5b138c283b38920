"""Puzzles: trained, killed and resumed, loaded, and tried on harder ones."""

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.base.errors import ConfigError
from regard.decoding.solver import Solver
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.training.progress import Progress
from tests.laws.learners import KilledError, Killing

TABLES: dict[str, Any] = {
    "task": "solve",
    "puzzle": {"name": "copy_back", "length": 8, "count": 2, "letters": 3},
    "examples": {"rows": 16, "dev": 80},
    "model": {
        "name": "bert", "layers": 1, "width": 16, "heads": 2, "norm_place": "before", "dropout": 0.0,
        "positions": "learned(12)",
    },
    "training": {
        "steps": 60, "validate_every": 30, "checkpoint_every": 20, "metric": "accuracy",
        "optimizer": {"learning_rate": 0.02}, "schedule": "constant",
    },
}  # fmt: skip


def train(home: Path, name: str, progress: Progress, **changes: Any) -> bytes:
    train_run(run_of(TABLES | changes, "law"), home / name, home, progress)
    return (home / name / "model.safetensors").read_bytes()


def test_it_learns_resumes_and_is_tried_on_other_puzzles(tmp_path: Path) -> None:
    undisturbed = train(tmp_path, "copy_back", Progress())
    with pytest.raises(KilledError):
        train(tmp_path, "killed", Killing(45))
    assert train(tmp_path, "killed", Progress()) == undisturbed
    solver = regard.load(tmp_path / "copy_back", expect=Solver)
    assert solver.accuracy(100) > 0.5  # one in three by chance
    assert 0 <= solver.accuracy(100, length=10) <= 1
    with pytest.raises(ConfigError, match="puzzle: the model was trained for other symbols or answers"):
        solver.accuracy(letters=7)
    item = solver.puzzle.batch(3, 1)
    assert solver.answers(item.tokens, item.lengths).shape == (3, 8)


def test_wrong_dials_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="puzzle"):
        train(tmp_path, "wrong", Progress(), puzzle={"name": "recall", "lenght": 5})
