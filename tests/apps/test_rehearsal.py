"""A few moments of training tell what the whole will take."""

from pathlib import Path

import pytest

from regard.apps.rehearsal import rehearse
from tests.tasks.prepared import prepare, settings


@pytest.mark.parametrize("name", ["run.toml", "lm.toml"])
def test_what_follows_for_an_epoch(home: Path, name: str) -> None:
    made = prepare(settings(home, name), home / "tried", home)
    found = rehearse(made, 0.05)
    assert found.weights == sum(weight.numel() for weight in made.model().parameters())
    assert found.a_second > 0
    assert found.steps_an_epoch == (3 if name == "run.toml" else 5)
    tokens = int(made.prepared.store.sides[-1].lengths.sum())
    assert found.seconds_an_epoch == pytest.approx(tokens / found.a_second)
    assert 0 <= found.padding < 0.5
    assert found.memory > 1e6
    assert found.flops_an_epoch is not None
    assert found.flops_an_epoch > 6 * tokens * 1000


def test_several_batches_make_one_step(home: Path) -> None:
    made = prepare(settings(home, training__accumulate=3), home / "tried", home)
    assert rehearse(made, 0.01).steps_an_epoch == 1
