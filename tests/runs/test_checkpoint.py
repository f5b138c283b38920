import errno
from pathlib import Path

import pytest
import torch

from regard.base import files
from regard.base.errors import RegardError
from regard.runs.artifact import Artifact, save_artifact
from regard.runs.checkpoint import Checkpoint, Checkpoints, is_checkpoint, read_checkpoint


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    kept = Checkpoints(tmp_path / "checkpoints")
    for step in (5, 10, 120):
        tensors = {"model.weight": torch.full((2,), float(step)), "optimizer.step": torch.tensor(step)}
        kept.write(Checkpoint(step, tensors, {"position": [1, step], "best": 0.1 + 0.2}))
    return kept


def damage(path: Path, at: int = -1) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_a_checkpoint_is_read_back(kept: Checkpoints) -> None:
    assert kept.steps() == [5, 10, 120]
    checkpoint = kept.read(10)
    assert checkpoint.step == 10
    assert checkpoint.state == {"position": [1, 10], "best": 0.1 + 0.2} == kept.state(10)
    assert checkpoint.part("model").keys() == {"weight"}
    assert torch.equal(checkpoint.part("model")["weight"], torch.full((2,), 10.0))
    assert checkpoint.part("mod") == {}


def test_a_file_says_whether_it_is_one(kept: Checkpoints, tmp_path: Path) -> None:
    assert is_checkpoint(kept.path(5))
    assert read_checkpoint(kept.path(5).rename(tmp_path / "mine")).step == 5
    save_artifact(tmp_path / "model", Artifact(config={}, task="translate", sizes={}))
    assert not is_checkpoint(tmp_path / "model")
    (tmp_path / "text").write_text("hello", encoding="utf-8")
    assert not is_checkpoint(tmp_path / "text")
    assert not is_checkpoint(tmp_path)


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    none = Checkpoints(tmp_path / "none")
    assert none.steps() == []
    assert list(none.newest_first(pytest.fail)) == []
    none.keep([])


@pytest.mark.parametrize("how", ["flip", "cut", "empty"])
def test_a_damaged_one_is_named_and_the_one_before_is_used(kept: Checkpoints, how: str) -> None:
    path = kept.path(120)
    if how == "flip":
        damage(path)
    else:
        path.write_bytes(path.read_bytes()[:40] if how == "cut" else b"")
    warnings: list[str] = []
    assert next(kept.newest_first(warnings.append)).step == 10
    (warning,) = warnings
    assert str(path) in warning
    assert "the checkpoint before it is used" in warning


def test_deleting_spares_what_is_not_ours(kept: Checkpoints) -> None:
    (kept.folder / "notes.txt").write_text("mine")
    (kept.folder / ".step-00000130.safetensors.1f.tmp").write_text("half")
    kept.keep([120, 7])
    assert {path.name for path in kept.folder.iterdir()} == {"notes.txt", "step-00000120.safetensors"}


def test_a_full_disk_keeps_what_there_was(kept: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in kept.folder.iterdir()}

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RegardError, match=r"step-00000200\.safetensors: cannot be written: no space left on device"):
        kept.write(Checkpoint(200, {"model.weight": torch.ones(2)}, {}))
    assert {path: path.read_bytes() for path in kept.folder.iterdir()} == before


def test_a_folder_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegardError, match="file: cannot be written"):
        Checkpoints(tmp_path / "file").write(Checkpoint(1, {}, {}))


def test_other_files_are_not_taken_for_checkpoints(kept: Checkpoints) -> None:
    save_artifact(kept.path(10), Artifact(config={}, task="language", sizes={"text": 1}, weights={"a": torch.ones(1)}))
    with pytest.raises(RegardError, match="this is a regard model, not a training checkpoint"):
        kept.read(10)
    kept.path(5).rename(kept.path(6))
    with pytest.raises(RegardError, match="the checkpoint of step 5; its file was renamed"):
        kept.read(6)
