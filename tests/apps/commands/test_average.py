"""The mean of models."""

from pathlib import Path

import torch

from regard.runs.artifact import load_artifact, save_artifact
from tests.apps.running import Run

MODEL = Path("runs/en-de/model.safetensors")


def test_the_mean_of_a_model_and_itself_is_the_model(home: Path, run: Run) -> None:
    assert run("average", MODEL, "runs/en-de", "--out", "mean.safetensors").lines == [
        "wrote mean.safetensors, the mean of 2 models"
    ]
    assert Path("mean.safetensors").read_bytes() == MODEL.read_bytes()


def test_the_mean_lies_between(home: Path, run: Run) -> None:
    first = load_artifact(MODEL)
    save_artifact("zero.safetensors", first.with_weights({name: 0 * tensor for name, tensor in first.weights.items()}))
    assert run("average", MODEL, "zero.safetensors", "--out", "half.safetensors").code == 0
    half = load_artifact("half.safetensors")
    for name, tensor in first.weights.items():
        assert torch.equal(half.weights[name], tensor / 2)
    assert run("translate", "half.safetensors", stdin="the dog\n").code == 0


def test_models_of_different_kinds_are_refused_and_nothing_is_written(home: Path, run: Run) -> None:
    done = run("average", "runs/en-de", "runs/lm", "--out", "mean.safetensors")
    assert done.code == 1
    assert "have different task" in done.sentence
    assert not Path("mean.safetensors").exists()


def test_a_folder_that_is_not_there_is_named(home: Path, run: Run) -> None:
    done = run("average", "runs/en-de", "--out", "nowhere/mean.safetensors")
    assert done.code == 1
    assert done.sentence == "nowhere/mean.safetensors: cannot be written: there is no folder nowhere"


def test_snapshots_are_models_too(home: Path, run: Run) -> None:
    snapshots = sorted(Path("runs/en-de/snapshots").iterdir())
    same = [path for path in snapshots if _alone(run, path) == MODEL.read_bytes()]
    assert len(same) == 1  # the best of them
    text = "the dog\n"
    assert run("translate", same[0], stdin=text).lines == run("translate", MODEL, stdin=text).lines
    away = Path("away.safetensors")
    away.write_bytes(same[0].read_bytes())
    assert "away.safetensors: holds weights alone" in run("translate", away, stdin=text).sentence


def _alone(run: Run, snapshot: Path) -> bytes:
    """The model file that a snapshot makes by itself."""
    assert run("average", snapshot, "--out", "alone.safetensors").code == 0
    return Path("alone.safetensors").read_bytes()
