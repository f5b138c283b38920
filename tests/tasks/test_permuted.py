"""Permutation language modeling: prepared, trained, killed, evaluated and loaded; and segments that are recalled."""

from pathlib import Path
from typing import Any

import pytest

import regard
from regard.base.errors import ConfigError
from regard.decoding.permuted_filler import PermutedFiller
from regard.tasks.language import Language
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.progress import Progress
from tests.laws.learners import KilledError, Killing
from tests.tasks.test_masked import LINES

TABLES: dict[str, Any] = {
    "task": "permuted",
    "data": {"train": ["text.txt"], "dev": ["dev.txt"]},
    "subwords": {"kind": "word", "min_count": 1},
    "streams": {"rows": 8, "length": 10, "context": 10},
    "permuting": {"spread": 3},
    "model": {"name": "xlnet", "layers": 1, "width": 32, "heads": 2, "norm_place": "before"},
    "training": {
        "steps": 200,
        "validate_every": 100,
        "checkpoint_every": 20,
        "metric": "accuracy",
        "optimizer": {"learning_rate": 0.004},
        "schedule": "constant",
    },
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in LINES * 20), encoding="utf-8")
    (tmp_path / "dev.txt").write_text("".join(f"{line}\n" for line in LINES[::-1]), encoding="utf-8")
    return tmp_path


def train(home: Path, name: str, progress: Progress, **changes: Any) -> bytes:
    train_run(run_of(TABLES | changes, "xlnet"), home / name, home, progress)
    return (home / name / "model.safetensors").read_bytes()


def test_it_learns_and_fills_places(home: Path) -> None:
    train(home, "xlnet", Progress())
    filler = regard.load(home / "xlnet")
    assert isinstance(filler, PermutedFiller)
    best = filler.fill(["the <mask> sees the dog"])[0][0]
    assert {word.text for word in best[:2]} == {"cat", "dog"}


def test_killed_and_resumed_it_ends_with_the_same_bytes(home: Path) -> None:
    few = TABLES["training"] | {"steps": 30, "validate_every": 15}
    undisturbed = train(home, "xlnet", Progress(), training=few)
    with pytest.raises(KilledError):
        train(home, "killed", Killing(25), training=few)
    assert train(home, "killed", Progress(), training=few) == undisturbed


LANGUAGE: dict[str, Any] = {
    "task": "language",
    "permuting": None,
    "model": {"name": "transformer_xl", "layers": 1, "width": 16, "heads": 2, "memory": "rolling(16)"},
    "training": TABLES["training"] | {"steps": 12, "validate_every": 100, "checkpoint_every": 5, "metric": "loss"},
}


def language(home: Path, name: str, progress: Progress, **changes: Any) -> bytes:
    tables = {key: value for key, value in (TABLES | LANGUAGE | changes).items() if value is not None}
    train_run(run_of(tables, "xl"), home / name, home, progress)
    return (home / name / "model.safetensors").read_bytes()


def test_a_language_model_that_recalls_is_killed_and_resumed_to_the_same_bytes(home: Path) -> None:
    undisturbed = language(home, "xl", Progress())
    with pytest.raises(KilledError):
        language(home, "killed", Killing(8))
    assert language(home, "killed", Progress()) == undisturbed
    assert language(home, "forgetful", Progress(), streams={"rows": 8, "length": 10}) != undisturbed
    scores = regard.load(home / "xl", expect=regard.Generator).score(LINES, window=7)
    whole = regard.load(home / "xl", expect=regard.Generator).score(LINES, window=1000)
    assert scores == pytest.approx(whole, abs=1e-4)  # segments with memory equal one long pass


def test_a_model_without_a_memory_of_segments_is_told(home: Path) -> None:
    gpt = {"name": "gpt", "layers": 1, "width": 16, "heads": 2}
    with pytest.raises(ConfigError, match=r"streams\.context: a GptModel has no memory of earlier segments"):
        language(home, "gpt", Progress(), model=gpt)


def test_evaluation_may_remember_more_than_training(home: Path) -> None:
    language(home, "xl", Progress(), training=LANGUAGE["training"] | {"steps": 3})
    shorter, longer = (regard.load(home / "xl", expect=regard.Generator) for _ in range(2))
    longer.remember_more(40)
    first, second = shorter.score(LINES * 2, window=12), longer.score(LINES * 2, window=12)
    assert first[:16] == pytest.approx(second[:16], abs=1e-5)
    assert first != pytest.approx(second, abs=1e-6)
    how = Evaluation(memory=40)
    (home / "test.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    assert Language.evaluate(shorter, [home / "test.txt"], how)[0].value > 1


def test_a_masked_model_recalls_nothing(home: Path) -> None:
    masked = {key: value for key, value in TABLES.items() if key != "permuting"} | {"task": "masked"}
    with pytest.raises(ConfigError, match=r"streams\.context: a model of masked tokens recalls nothing"):
        train_run(run_of(masked, "masked"), home / "masked", home, Progress())
