"""Masked language modeling: prepared, trained, killed, evaluated and loaded."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.decoding.filler import Filler
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.training.progress import Progress
from tests.laws.learners import KilledError, Killing

LINES = [
    f"the {noun} {verb} the {other}"
    for noun in ("cat", "dog")
    for verb in ("sees", "hears")
    for other in ("cat", "dog")
]
TABLES: dict[str, Any] = {
    "task": "masked",
    "data": {"train": ["text.txt"], "dev": ["dev.txt"]},
    "subwords": {"kind": "word", "min_count": 1},
    "streams": {"rows": 8, "length": 10},
    "model": {"name": "bert", "layers": 1, "width": 32, "heads": 2, "norm_place": "before"},
    "training": {
        "steps": 300,
        "validate_every": 150,
        "checkpoint_every": 100,
        "metric": "accuracy",
        "optimizer": {"learning_rate": 0.003},
        "schedule": "constant",
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in LINES * 20), encoding="utf-8")
    (tmp_path / "dev.txt").write_text("".join(f"{line}\n" for line in LINES[::-1]), encoding="utf-8")
    return tmp_path


def train(home: Path, name: str, progress: Progress, **training: Any) -> bytes:
    tables = {**TABLES, "training": {**TABLES["training"], **training}}
    train_run(run_of(tables, "bert"), home / name, home, progress)
    return (home / name / "model.safetensors").read_bytes()


def test_it_learns_and_fills_places(home: Path) -> None:
    train(home, "bert", Progress())
    filler = regard.load(home / "bert")
    assert isinstance(filler, Filler)
    (places,) = filler.fill(["the <mask> sees the dog"])
    assert {one.text for one in places[0][:2]} == {"cat", "dog"}
    verb = filler.fill(["the cat <mask> the dog"])[0][0]
    assert {one.text for one in verb[:2]} == {"sees", "hears"}
    log = (home / "bert/log.jsonl").read_text(encoding="utf-8")
    assert '"accuracy"' in log
    assert '"perplexity"' in log


def test_killed_and_resumed_it_hides_the_same(home: Path) -> None:
    brief = {"steps": 30, "validate_every": 15, "checkpoint_every": 10}
    whole = train(home, "whole", Progress(), **brief)
    with pytest.raises(KilledError):
        train(home, "killed", Killing(25), **brief)
    assert train(home, "killed", Progress(), **brief) == whole


def test_the_dev_set_hides_the_same_tokens_each_time(home: Path) -> None:
    task = run_of(TABLES, "dev").task
    (home / "a").mkdir()
    first, second = (task.prepare(home / "a", home).dev for _ in range(2))
    assert all(torch.equal(one.tokens, other.tokens) for one, other in zip(first, second, strict=True))  # type: ignore[attr-defined]
