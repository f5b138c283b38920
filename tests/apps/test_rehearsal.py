"""A few moments of training tell what the whole will take."""

from pathlib import Path

import pytest

from regard.apps.preparation import Prepared, prepare
from regard.apps.rehearsal import rehearse
from regard.apps.run_settings import read_run
from tests.apps.running import SMALL, SMALL_LM


def prepared(home: Path, name: str, settings: dict[str, object], **training: object) -> Prepared:
    (home / "tried").mkdir()
    both = settings | {f"training.{key}": value for key, value in training.items()}
    return prepare(read_run(home / name, [f"{key}={value}" for key, value in both.items()]), home / "tried", home)


@pytest.mark.parametrize(("name", "settings"), [("run.toml", SMALL), ("lm.toml", SMALL_LM)])
def test_what_follows_for_an_epoch(home: Path, name: str, settings: dict[str, object]) -> None:
    made = prepared(home, name, settings)
    found = rehearse(made, 0.05)
    assert found.weights == sum(weight.numel() for weight in made.model().parameters())
    assert found.tokens_a_second > 0
    assert found.steps_an_epoch == (3 if name == "run.toml" else 5)
    tokens = int(made.store.sides[-1].lengths.sum())
    assert found.seconds_an_epoch == pytest.approx(tokens / found.tokens_a_second)
    assert 0 <= found.padding < 0.5
    assert found.memory > 1e6
    assert found.flops_an_epoch > 6 * tokens * 1000


def test_several_batches_make_one_step(home: Path) -> None:
    assert rehearse(prepared(home, "run.toml", SMALL, accumulate=3), 0.01).steps_an_epoch == 1
