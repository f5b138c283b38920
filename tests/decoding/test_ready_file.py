"""What is kept comes back, or nothing does; and only so much is kept."""

import os
from pathlib import Path

import numpy as np
import pytest

from regard.decoding import ready_file
from regard.decoding.ready_file import read_ready, ready_place, write_ready

ARRAYS = [np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(4, np.float32)]


def test_arrays_and_texts_come_back(tmp_path: Path) -> None:
    place = tmp_path / "cache" / "some.ready.safetensors"
    write_ready(place, ARRAYS, {"language": "日本語"})
    found = read_ready(place)
    assert found is not None
    assert found[1] == {"language": "日本語"}
    assert all(np.array_equal(one, other) for one, other in zip(found[0], ARRAYS, strict=True))
    assert place.stat().st_mode & 0o077 == 0


def test_what_is_damaged_is_not_there(tmp_path: Path) -> None:
    place = tmp_path / "some.ready.safetensors"
    write_ready(place, ARRAYS, {"a": 1})
    good = place.read_bytes()
    for at in range(0, len(good), 7):
        place.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        found = read_ready(place)
        assert found is None or found[1] == {"a": 1}
        assert found is None or np.array_equal(found[0][0], ARRAYS[0])
        assert place.exists() == (found is not None)  # it can be made again
    for left in (good[:-3], good[:9], b""):
        place.write_bytes(left)
        assert read_ready(place) is None
        assert not place.exists()
    assert read_ready(tmp_path / "none") is None


def test_those_not_used_for_longest_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready_file, "_MOST", 2)
    for age, name in ((30, "old"), (20, "used"), (10, "new")):
        write_ready(tmp_path / f"{name}.ready.safetensors", ARRAYS, {})
        os.utime(tmp_path / f"{name}.ready.safetensors", (1e9 - age, 1e9 - age))
    read_ready(tmp_path / "used.ready.safetensors")
    write_ready(tmp_path / "newest.ready.safetensors", ARRAYS, {})
    assert {file.name.split(".")[0] for file in tmp_path.iterdir()} == {"used", "newest"}


def test_where_nothing_can_be_written_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    write_ready(tmp_path / "file" / "some.ready.safetensors", ARRAYS, {})


def test_a_place_follows_from_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, library = tmp_path / "model.safetensors", tmp_path / "kernels.so"
    monkeypatch.setattr(ready_file, "library_file", lambda kind: library)
    monkeypatch.setattr(ready_file, "announced", lambda kind: kind == "avx2")
    for name in ("ATEN_CPU_CAPABILITY", "REGARD_NATIVE"):
        monkeypatch.delenv(name, raising=False)
    model.write_bytes(b"one")
    assert ready_place(model) is None  # no kernels yet
    library.touch()
    place = ready_place(model)
    assert place is not None
    assert place == ready_place(tmp_path)  # a run
    assert place[1] == "avx2"
    model.write_bytes(b"other")
    assert ready_place(model) != place
    monkeypatch.setattr(ready_file, "LARGEST", 3)
    assert ready_place(model) is None
    assert ready_place(tmp_path / "missing") is None
    model.write_bytes(b"one")
    monkeypatch.setenv("REGARD_NATIVE", "0")
    assert ready_place(model) is None
