"""Weights that ranks share out (FSDP2) learn what those of one process learn, in half the memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from regard.base.errors import ConfigError
from regard.base.ranks import Ranks
from regard.training.shards import Shards

from . import examples

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    script = ROOT / "tests" / "training" / "sharded.py"
    command = [sys.executable, "-W", "error::FutureWarning", str(script), str(tmp_path_factory.mktemp("sharded")), "4"]
    told = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_two_ranks_learn_the_same_in_half_the_memory(optimizer: str, sharded: dict[str, Any]) -> None:
    assert sharded[optimizer]["difference"] < 1e-5
    assert sharded[optimizer]["share"] < 0.55


def test_what_differs_is_rounding(sharded: dict[str, Any]) -> None:
    """In float64 nothing differs; in float32 only weights whose gradient is 0 but for rounding, which move nothing."""
    single, double = sharded["torch.float32"], sharded["torch.float64"]
    assert single["with a gradient"] < 1e-6
    assert max(double["with a gradient"], double["without"]) < 1e-10
    assert 0 < single["count without"] <= 5 * 16  # biases of keys, in five attentions of width 16
    assert single["outputs"] < 1e-5
    assert double["outputs"] < 1e-13


def test_another_number_of_ranks_and_one_process_go_on(sharded: dict[str, Any]) -> None:
    assert set(sharded["resumed"]) == {"3", "1"}
    assert max(sharded["resumed"].values()) < 1e-5


def test_lanes_are_a_multiple_of_ranks() -> None:
    with pytest.raises(ConfigError, match=r"lanes: must be a multiple of the 2 ranks that share the weights, but is 3"):
        Shards(examples.tiny(), 3, Ranks(0, 2), short=False)
