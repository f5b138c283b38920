"""A run's own files: a flipped bit in any of them, and a full disk at any write. Both end as if nothing had been."""

import errno
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from regard.base.errors import RegardError
from tests.faults.campaign import LONG, report
from tests.faults.runs import TABLES, train, write_data


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    home = tmp_path_factory.mktemp("damage")
    write_data(home)
    return home


@pytest.fixture(scope="module")
def whole(home: Path) -> bytes:
    return train(TABLES, home, home / "whole")


def test_a_flipped_bit_is_found_or_mended(home: Path, whole: bytes) -> None:
    """Started again after the damage, the run ends with the same model, or with one sentence."""
    chance, tried, good = random.Random(1), 0, 0
    files = [path for path in sorted((home / "whole").rglob("*")) if path.is_file() and path.name != "lock"]
    for path in files:
        for _ in range(40 if LONG else 2):
            folder = home / "flipped"
            shutil.copytree(home / "whole", folder)
            (folder / "model.safetensors").unlink()
            damaged = folder / path.relative_to(home / "whole")
            if damaged.exists() and (content := bytearray(damaged.read_bytes())):
                content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
                damaged.write_bytes(bytes(content))
            tried += 1
            try:
                good += train(TABLES, home, folder) == whole
            except RegardError as error:
                good += len(str(error).splitlines()) == 1
            shutil.rmtree(folder)
    report("flipped bits", good, tried)


def full_disk(monkeypatch: pytest.MonkeyPatch, at: int) -> Callable[[], int]:
    """Let the sync with this number, and all after it, find the disk full; returns how many there were."""
    count = 0

    def sync(handle: int) -> None:
        nonlocal count
        count += 1
        if count > at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", sync)
    return lambda: count


def test_a_full_disk_is_one_sentence_and_the_next_start_goes_on(home: Path, whole: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        counted = full_disk(patch, 10**9)
        train(TABLES, home, home / "counted")
    tried = good = 0
    for at in range(0, counted(), 1 if LONG else 4):
        folder = home / f"full-{at}"
        with pytest.MonkeyPatch.context() as patch:
            full_disk(patch, at)
            with pytest.raises(RegardError, match="no space left on device") as refused:
                train(TABLES, home, folder)
        tried += 1
        good += len(str(refused.value).splitlines()) == 1 and train(TABLES, home, folder) == whole
        shutil.rmtree(folder)
    report("full disks", good, tried)


def test_clocks_that_jump_change_nothing(home: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: chance.uniform(-1e9, 4e9))
    tried = 20 if LONG else 1
    good = sum(train(TABLES, home, home / f"clock-{at}") == whole for at in range(tried))
    report("jumping clocks", good, tried)
