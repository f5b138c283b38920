from pathlib import Path

import pytest
import torch

from regard.base.errors import RegardError
from regard.runs.artifact import Artifact, save_artifact
from regard.runs.checkpoint import Checkpoint
from regard.runs.folder import RunFolder
from regard.runs.snapshot import holds_model, open_artifact


def run(path: Path) -> RunFolder:
    """A finished run with a snapshot of step 4; of its weights, `b` is tied to `a`."""
    folder = RunFolder(path)
    path.mkdir()
    weight = torch.ones(2)
    made = Artifact(
        config={"model": {"name": "a"}},
        task="translate",
        sizes={"source": 3, "target": 4},
        tokenizers={"source": "{}"},
        extras={"heads": [1]},
        weights={"a": weight, "b": weight, "c": torch.ones(1)},
    )
    save_artifact(folder.model, made)
    snapshot = {"model.a": torch.full((2,), 4.0), "model.c": torch.zeros(1), "optimizer.a": torch.zeros(2)}
    folder.snapshots.write(Checkpoint(4, snapshot, {}))
    return folder


def test_a_snapshot_is_its_run_s_model_with_other_weights(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    whole, found = open_artifact(tmp_path / "run"), open_artifact(folder.snapshots.path(4))
    assert open_artifact(folder.model).weights["a"].tolist() == whole.weights["a"].tolist() == [1, 1]
    assert (found.config, found.tokenizers, found.extras) == (whole.config, whole.tokenizers, whole.extras)
    assert {name: tensor.tolist() for name, tensor in found.weights.items()} == {"a": [4, 4], "b": [4, 4], "c": [0]}
    assert found.weights["a"] is found.weights["b"]
    assert found.name == str(folder.snapshots.path(4))


def test_a_snapshot_away_from_its_run_is_refused(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    (tmp_path / "other" / "deep").mkdir(parents=True)
    away = folder.snapshots.path(4).rename(tmp_path / "other" / "deep" / "mine.safetensors")
    with pytest.raises(RegardError, match=r"mine\.safetensors: holds weights alone, and .*other.model\.safetensors"):
        open_artifact(away)


def test_a_snapshot_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    folder.snapshots.write(Checkpoint(5, {"model.a": torch.ones(3), "model.c": torch.zeros(1)}, {}))
    with pytest.raises(RegardError, match=r"step-00000005\.safetensors: its weights are not those of the model in"):
        open_artifact(folder.snapshots.path(5))


def test_other_files_say_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(RegardError, match=r"notes\.txt: not a whole safetensors file \(it is of another kind; a model"):
        open_artifact(tmp_path / "notes.txt")


def test_a_model_is_told_from_a_text(tmp_path: Path) -> None:
    assert holds_model(tmp_path)
    assert holds_model("a.safetensors")
    assert not holds_model(tmp_path / "output.de")
