"""Threads sleep while they wait, which OpenMP itself is asked about: it tells its settings when it is loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.base.waiting import PASSIVE, wait_passively

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "regard", "translate", "no-such-model"]
CODE = [sys.executable, "-c", "import regard, torch"]
LATE = [sys.executable, "-c", "import torch, regard, os; print(os.environ.get('GOMP_SPINCOUNT'))"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only GCC's OpenMP, of the wheels for Linux, is asked")


def started(command: list[str], **given: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in PASSIVE}
    told = kept | {"OMP_DISPLAY_ENV": "verbose", "PYTHONPATH": str(ROOT)} | given
    done = subprocess.run(command, env=told, input="", capture_output=True, text=True)
    assert "OPENMP DISPLAY ENVIRONMENT END" in done.stderr, done.stderr  # torch was loaded
    return done


def spins(done: subprocess.CompletedProcess[str]) -> str:
    return next(line.split("'")[1] for line in done.stderr.splitlines() if "GOMP_SPINCOUNT" in line)


@pytest.mark.parametrize("command", [COMMAND, CODE], ids=["python -m regard", "import regard"])
def test_openmp_is_told_before_torch_is_loaded(command: list[str]) -> None:
    assert spins(started(command)) == "0"


def test_a_users_own_setting_stays() -> None:
    assert int(spins(started(CODE, OMP_WAIT_POLICY="active"))) > 10**9


def test_nothing_is_set_where_torch_came_first() -> None:
    done = started(LATE)
    assert (spins(done), done.stdout.strip()) == ("300000", "None")


def test_all_or_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch")
    for variable in PASSIVE:
        monkeypatch.setenv(variable, "")  # as if it were not there
    wait_passively()
    assert {name: os.environ[name] for name in PASSIVE} == PASSIVE
    monkeypatch.setenv("OMP_WAIT_POLICY", "")
    monkeypatch.setenv("GOMP_SPINCOUNT", "")
    monkeypatch.setenv("KMP_BLOCKTIME", "200")
    wait_passively()
    assert (os.environ["OMP_WAIT_POLICY"], os.environ["KMP_BLOCKTIME"]) == ("", "200")
