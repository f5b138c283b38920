"""Ranks that fail end in one sentence of one rank; what was saved is kept."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SENTENCES = {
    "other_data": r"rank 1 has other data than rank 0: .*; all ranks must start with the same",
    "other_version": "rank 1 has other versions than rank 0: Regard 0.0.1, torch",
    "too_many_ranks": "training.lanes: 3 ranks cannot share 2 lanes; start at most 2 ranks",
    "port_in_use": "is in use by another program; choose another MASTER_PORT",
    "absent_rank": "of 4 ranks, 2, 3 did not come within 1 s",
    "full_disk": "cannot be written: no space left on device",
    "full_disk_of_rank_1": "cannot be written: no space left on device",
    "no_gpu": "--device cuda: cannot be used",
    "asked_to_stop": "stopped by a request to end after step 2; the run is saved",
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [
        sys.executable,
        str(ROOT / "tests" / "tasks" / "failing_ranks.py"),
        str(tmp_path_factory.mktemp("ranks")),
    ]
    told = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("scene", SENTENCES)
def test_one_rank_says_one_sentence(scene: str, played: dict[str, Any]) -> None:
    found = played[scene]
    assert all(found["codes"]), found
    assert not found["trace"]
    assert len(found["said"]) == 1, found
    assert re.search(SENTENCES[scene], found["said"][0]), found["said"]


def test_a_full_disk_leaves_what_was_saved_before(played: dict[str, Any]) -> None:
    assert played["full_disk_of_rank_1"]["kept"] == [1]
    assert played["full_disk_of_rank_1"]["codes"] == [1, 1]


def test_a_request_to_end_leaves_a_checkpoint_and_another_number_of_ranks_goes_on(played: dict[str, Any]) -> None:
    found = played["asked_to_stop"]
    assert found["kept"][-1] == 2
    assert found["after"] == [0, 0, 0]
    assert found["model"]
    *codes, translated, evaluated, refused = found["used"]
    assert codes == [0] * 8
    assert translated
    assert evaluated
    assert len(refused) == 1
    assert "ranks share the lines of a text file" in refused[0]
