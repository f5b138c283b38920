"""Span corruption: prepared, trained, killed, evaluated and loaded."""

from pathlib import Path
from typing import Any

import pytest
import transformers

import regard
from regard.base.errors import ConfigError
from regard.decoding.translator import Translator
from regard.interop.huggingface import export_huggingface
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import TASKS, Evaluation
from regard.training.progress import Progress
from tests.laws.learners import KilledError, Killing

LINES = ["one two three four five six seven eight nine ten", "red green blue red green blue red green blue"]
TABLES: dict[str, Any] = {
    "task": "spans",
    "data": {"train": ["text.txt"], "dev": ["dev.txt"]},
    "subwords": {"kind": "word", "min_count": 1},
    "streams": {"rows": 8, "length": 20},
    "corruption": {"sentinels": 4},
    "model": {
        "name": "t5", "encoder_layers": 1, "decoder_layers": 1, "width": 32, "heads": 2, "dropout": 0.0,
    },
    "training": {
        "steps": 240,
        "validate_every": 120,
        "checkpoint_every": 60,
        "metric": "accuracy",
        "optimizer": {"learning_rate": 0.01},
        "schedule": "constant",
    },
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in LINES * 60), encoding="utf-8")
    (tmp_path / "dev.txt").write_text("".join(f"{line}\n" for line in LINES[::-1] * 4), encoding="utf-8")
    return tmp_path


def train(home: Path, name: str, progress: Progress, **training: Any) -> bytes:
    tables = {**TABLES, "training": {**TABLES["training"], **training}}
    train_run(run_of(tables, "t5"), home / name, home, progress)
    return (home / name / "model.safetensors").read_bytes()


def test_it_learns_and_writes_hidden_spans(home: Path) -> None:
    train(home, "t5", Progress())
    opened = regard.load(home / "t5")
    assert isinstance(opened, Translator)
    (found,) = opened.translate(["one two three <extra_id_0> six seven eight nine ten"])
    assert found.text.startswith("<extra_id_0>")
    scores = TASKS.get("spans").evaluate(opened, [home / "dev.txt"], Evaluation())  # type: ignore[attr-defined]
    assert {score.name: score.value for score in scores}["accuracy"] > 30
    export_huggingface(home / "t5", home / "there")
    assert transformers.AutoModelForSeq2SeqLM.from_pretrained(home / "there").config.model_type == "t5"


def test_killed_and_resumed_it_hides_the_same(home: Path) -> None:
    brief = {"steps": 30, "validate_every": 15, "checkpoint_every": 10}
    whole = train(home, "whole", Progress(), **brief)
    with pytest.raises(KilledError):
        train(home, "killed", Killing(25), **brief)
    assert train(home, "killed", Progress(), **brief) == whole


def test_models_that_read_no_source_are_refused(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"gpt learns from text, but the task spans gives source and target"):
        run_of({**TABLES, "model": "gpt"}, "gpt")
