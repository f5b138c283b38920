"""Each contestant is trained in a process of its own."""

from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.comparison.contest import train_alone
from regard.tasks.run import run_of
from tests.comparison.test_comparing import TABLES


def test_equal_contestants_cost_the_same_memory_in_any_order(tmp_path: Path) -> None:
    """In one process, the second would reuse what the first left behind, and seem to need next to nothing."""
    wide = TABLES | {"model": TABLES["model"] | {"width": 512}, "training": {"steps": 2, "validate_every": 2}}
    costs = [train_alone(run_of(wide, "wide"), tmp_path / str(at), tmp_path) for at in range(2)]
    assert (tmp_path / "1" / "model.safetensors").exists()
    assert all(cost.mib > 10 for cost in costs)
    assert costs[1].mib == pytest.approx(costs[0].mib, rel=0.25)


def test_a_mistake_in_the_settings_is_told(tmp_path: Path) -> None:
    wrong = TABLES | {"training": {"steps": 1, "metric": "nonsense", "validate_every": 1}}
    with pytest.raises(RegardError, match="nonsense"):
        train_alone(run_of(wrong, "wrong"), tmp_path / "a", tmp_path)
