"""A run's own files: a flipped bit in any of them, and a full disk at any write. Both end as if nothing had been."""

import errno
import io
import os
import random
import shutil
import sys
import time
from pathlib import Path
from typing import Any

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


class Disk:
    """A disk that is full at its write number `at`, and stays so if it is `lasting`.

    Writes are those of bytes into a file in `folder`, and syncs. Of the bytes that find no room, half are written, as
    of a real file.
    """

    def __init__(self, folder: Path, at: int, lasting: bool) -> None:
        self.folder, self.at, self.lasting, self.count = folder.resolve(), at, lasting, 0
        self._open, self._sync, self._write = io.open, os.fsync, os.write

    def __enter__(self) -> "Disk":
        io.open, os.fsync, os.write = self.open, self.sync, self.write  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        io.open, os.fsync, os.write = self._open, self._sync, self._write

    def full(self) -> bool:
        """Whether the next write finds no room."""
        self.count += 1
        return self.count == self.at or (self.lasting and self.count > self.at > 0)

    def check(self) -> None:
        if self.full():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self, handle: int) -> None:
        self.check()

    def write(self, handle: int, data: bytes) -> int:
        if self.folder in Path(f"/proc/self/fd/{handle}").readlink().parents:
            self.check()
        return self._write(handle, data)

    def open(self, file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
        named = not isinstance(file, int) and self.folder in Path(os.fsdecode(file)).resolve().parents
        if not named or "b" not in mode or not set(mode) & set("wax+"):
            return self._open(file, mode, buffering, *rest, **more)
        raw = _Raw(file, mode.replace("b", ""))
        raw.disk = self
        return raw if buffering == 0 else (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)


class _Raw(io.FileIO):
    disk: Disk

    def write(self, data: Any) -> int:
        if self.disk.full():
            super().write(memoryview(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


@pytest.mark.skipif(sys.platform != "linux", reason="looks a file's name up in /proc")
@pytest.mark.parametrize("lasting", [True, False], ids=["for good", "for a moment"])
def test_a_full_disk_is_one_sentence_and_the_next_start_goes_on(home: Path, whole: bytes, lasting: bool) -> None:
    """Full at any write: one sentence, or, where that file is not needed, the same model; the next start has it too."""
    with Disk(home, 0, lasting) as disk:
        assert train(TABLES, home, home / "counted") == whole
    shutil.rmtree(home / "counted")
    assert disk.count > 50
    tried = good = told = 0
    for at in range(1, disk.count + 1, 1 if LONG else 7):
        folder = home / f"full-{at}"
        fine = True
        with Disk(home, at, lasting):
            try:
                fine = train(TABLES, home, folder) == whole
            except RegardError as error:
                fine = len(str(error).splitlines()) == 1 and "no space left on device" in str(error)
                told += 1
        tried += 1
        good += fine and train(TABLES, home, folder) == whole and not list(folder.rglob("*.tmp*"))
        shutil.rmtree(folder)
    assert told >= tried // 2
    report(f"disks full {'for good' if lasting else 'for a moment'}", good, tried)


def test_clocks_that_jump_change_nothing(home: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: chance.uniform(-1e9, 4e9))
    tried = 20 if LONG else 1
    good = sum(train(TABLES, home, home / f"clock-{at}") == whole for at in range(tried))
    report("jumping clocks", good, tried)
