"""Ranks train to the same bytes as one process, at any number of them, also killed in between."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from regard.training.exchange import BUCKET, add_present, buckets_of

ROOT = Path(__file__).resolve().parents[2]


def test_any_number_of_ranks_ends_with_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error::FutureWarning", str(ROOT / "tests" / "training" / "ranked.py")]
    command += [str(tmp_path), "5", *("adam", "124", "0"), *("muon", "13", "1")]
    told = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.count("the same bytes") == 2


def test_buckets_hold_the_last_weights_first_up_to_a_size_and_of_one_type() -> None:
    large = torch.empty(BUCKET // 4 - 8, device="meta")
    small, other = torch.empty(8, device="meta"), torch.empty(8, dtype=torch.float64, device="meta")
    assert buckets_of([small, small, large, small, other]) == [[4], [3, 2], [1, 0]]
    assert buckets_of([torch.empty(BUCKET, device="meta")]) == [[0]]


def test_an_absent_gradient_adds_nothing() -> None:
    there = torch.tensor([-0.0, 1.0])
    assert add_present(None, None) is None
    assert add_present(there, None) is there
    assert add_present(None, there) is there
    absent = torch.full((2,), -0.0)
    assert torch.equal((there + absent).view(torch.int32), there.view(torch.int32))
    assert add_present(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]  # type: ignore[union-attr]
