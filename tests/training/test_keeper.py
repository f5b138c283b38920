from pathlib import Path
from typing import Any

import pytest
import torch

from regard.runs.artifact import Artifact, load_artifact
from regard.runs.folder import RunFolder
from regard.training.history import History
from regard.training.keeper import Keeper
from regard.training.optimizers.adam import Adam
from regard.training.state import TrainingState

from . import examples


def keeper(path: Path, notes: list[str] | None = None, artifact: Artifact | None = None, **changes: Any) -> Keeper:
    model = examples.tiny()
    settings = examples.settings(**changes)
    note = pytest.fail if notes is None else notes.append
    return Keeper(model, Adam().build(model), examples.run_folder(path), settings, artifact, note)


def validate(made: Keeper, history: History, step: int, score: float) -> History:
    with torch.no_grad():
        made.model.norm.bias.fill_(float(step))
    history = history.add(step, score)
    made.snapshot(history, improved=True)
    made.save(TrainingState(step=step, history=history))
    return history


def test_a_new_run_begins_at_the_beginning(tmp_path: Path) -> None:
    assert keeper(tmp_path).resume() == TrainingState()


def test_what_was_saved_is_resumed(tmp_path: Path) -> None:
    first, second = keeper(tmp_path), keeper(tmp_path)
    with torch.no_grad():
        first.model.norm.bias.fill_(3.0)
    state = TrainingState(step=5, seen=7)
    first.save(state)
    assert second.resume() == state
    assert torch.equal(second.model.norm.bias, torch.full((8,), 3.0))


def test_only_what_a_kept_checkpoint_needs_is_kept(tmp_path: Path) -> None:
    made, history = keeper(tmp_path, keep=2, average=2), History()
    folder = RunFolder(tmp_path)
    kept = []
    for step, score in ((1, 5.0), (2, 4.0), (3, 6.0), (4, 1.0), (5, 7.0)):
        history = validate(made, history, step, score)
        kept.append((folder.checkpoints.steps(), folder.snapshots.steps()))
    assert kept == [
        ([1], [1]),
        ([1, 2], [1, 2]),
        ([2, 3], [1, 2, 3]),  # the checkpoint of step 2 needs the snapshot of step 2
        ([3, 4], [2, 3, 4]),  # of step 4 alone, a better one to come would need it
        ([4, 5], [2, 3, 4, 5]),
    ]


def test_the_same_state_is_not_written_twice(tmp_path: Path) -> None:
    made = keeper(tmp_path)
    made.save(TrainingState(step=1))
    path = RunFolder(tmp_path).checkpoints.path(1)
    path.unlink()
    made.save(TrainingState(step=1))
    assert not path.exists()
    made.save(TrainingState(step=1, validated=1))
    assert path.exists()


def test_the_model_is_there_after_every_better_validation(tmp_path: Path) -> None:
    artifact = Artifact(config={}, task="translate", sizes=examples.SIZES)
    made = keeper(tmp_path, artifact=artifact, average=2)
    history = validate(made, History(), 2, 1.0)
    assert load_artifact(tmp_path / "model.safetensors").weights["norm.bias"][0] == 2
    history = validate(made, history, 4, 2.0)
    assert load_artifact(tmp_path / "model.safetensors").weights["norm.bias"][0] == 4
    final = made.final(history)
    assert final.steps == (2, 4)
    assert final.weights["norm.bias"][0] == 3
    assert load_artifact(tmp_path / "model.safetensors").weights["norm.bias"][0] == 3


@pytest.mark.parametrize(("score", "steps", "bias"), [(1.9, (4,), 4), (2.0, (2, 4), 3), (2.5, (2, 4), 3)])
def test_the_mean_is_the_model_only_if_it_is_no_worse(
    score: float, steps: tuple[int, ...], bias: int, tmp_path: Path
) -> None:
    made = keeper(tmp_path, artifact=Artifact(config={}, task="translate", sizes=examples.SIZES), average=2)
    history = validate(made, validate(made, History(), 2, 1.0), 4, 2.0)
    judged = []
    final = made.final(history, lambda weights: judged.append(weights["norm.bias"][0].item()) or (score, 0.0))
    assert judged == [3.0]
    assert (final.steps, final.tried, final.score) == (steps, (2, 4), score)
    assert final.weights["norm.bias"][0] == bias
    assert load_artifact(tmp_path / "model.safetensors").weights["norm.bias"][0] == bias


def test_the_last_can_be_averaged_instead(tmp_path: Path) -> None:
    made, history = keeper(tmp_path, average=2, average_of="last"), History()
    for step, score in ((1, 5.0), (2, 4.0), (3, 3.0)):
        history = validate(made, history, step, score)
    assert made.final(history, pytest.fail).steps == (2, 3)


def test_without_any_snapshot_the_latest_weights_are_the_model(tmp_path: Path) -> None:
    notes: list[str] = []
    made = keeper(tmp_path, notes)
    history = validate(made, History(), 3, 1.0)
    RunFolder(tmp_path).snapshots.keep([])
    final = made.final(history)
    assert final.steps == ()
    assert final.weights["norm.bias"][0] == 3
    assert "the model gets the latest weights" in notes[-1]


def test_an_unreadable_checkpoint_protects_all_snapshots(tmp_path: Path) -> None:
    made = keeper(tmp_path, average=1)
    history = validate(made, History(), 1, 1.0)
    RunFolder(tmp_path).checkpoints.path(1).write_bytes(b"spoiled")
    validate(made, history, 2, 2.0)
    assert RunFolder(tmp_path).snapshots.steps() == [1, 2]
