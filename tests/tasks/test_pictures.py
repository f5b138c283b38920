import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from regard.apps.cli import main
from regard.base.errors import RegardError
from regard.decoding.image_classifier import ImageClassifier
from regard.loading import load
from regard.tasks.run import read_run

from .picture_run import bars, write_bars


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_bars(tmp_path)
    return tmp_path


def test_pictures_are_learned_evaluated_and_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "run.toml"]) == 0
    assert main(["evaluate", "runs/bars", "test.npz", "--out", "told.txt"]) == 0
    printed = capsys.readouterr().out
    assert float(printed.split("accuracy ")[-1].split()[0]) >= 90
    assert set((place / "told.txt").read_text(encoding="utf-8").split()) == {"lying", "standing"}
    assert main(["predict", "runs/bars", "test.npz"]) == 0
    label = capsys.readouterr().out.split("\t")[0]
    Image.fromarray(np.kron(bars(1, 2)[0][0], np.ones((5, 5), np.uint8))).save(place / "bar.png")
    assert main(["predict", "runs/bars", "bar.png", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["labels"] == [label]
    assert sum(told["probabilities"].values()) == pytest.approx(1)
    assert told["picture"] == "bar.png"
    assert main(["inspect", "runs/bars", "bar.png", "--png", "--at", "3,5"]) == 0
    assert main(["draw", "attention", "runs/bars", "test.npz", "--number", "3", "--out", "three.svg"]) == 0
    assert "wrote inspect.png" in capsys.readouterr().out
    assert all((place / name).stat().st_size > 9_000 for name in ("inspect.html", "inspect.png", "three.svg"))
    assert main(["inspect", "runs/bars", "test.npz"]) == 2
    assert "holds 32 pictures; choose one with --number" in capsys.readouterr().err
    resumed_as_whole(place)


def resumed_as_whole(place: Path) -> None:
    """Ended at half and resumed, training ends with the same weights."""
    assert main(["train", "run.toml", "--set", "name=parts", "--set", "training.steps=20"]) == 0
    assert main(["train", "run.toml", "--set", "name=parts"]) == 0
    one, other = (load(f"runs/{name}", expect=ImageClassifier).model.state_dict() for name in ("bars", "parts"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_blocks_are_put_into_a_trained_network(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cnn = "model={ name = 'cnn', stage_widths = [4, 8] }"
    begun = ["--set", "name=begun", "--set", "training.base=runs/plain", "--set", "training.steps=1"]
    assert main(["train", "run.toml", "--set", "name=plain", "--set", cnn, "--set", "training.steps=4"]) == 0
    joined = cnn.replace("[4, 8]", "[4, 8], non_local = [2], block_steps = 'learned', block_heads = 2")
    assert main(["train", "run.toml", *begun, "--set", joined, "--set", "training.optimizer.learning_rate=1e-12"]) == 0
    plain, blocks = (load(f"runs/{name}", expect=ImageClassifier).model for name in ("plain", "begun"))
    assert {name.split(".")[2] for name in blocks.state_dict().keys() - plain.state_dict().keys()} == {"blocks"}
    pictures = torch.randn(3, 1, 8, 8)
    torch.testing.assert_close(blocks(pictures), plain(pictures), atol=1e-6, rtol=0)
    wider = cnn.replace("[4, 8]", "[4, 6]")
    assert main(["train", "run.toml", *begun, "--set", wider, "--set", "name=wider"]) == 2
    assert "must be that of the base" in capsys.readouterr().err


def prepared(place: Path, *changes: str) -> object:
    (place / "work").mkdir(exist_ok=True)
    return read_run(place / "run.toml", changes).task.prepare(place / "work", place)


def test_a_share_is_held_out_where_no_dev_set_is_given(place: Path) -> None:
    found = prepared(place, "data.dev=none", "data.hold_out=0.25")
    assert found.train.epoch()[1] == 96
    assert sum(item.count for item in found.dev) == 32
    assert not set(found.train.which.tolist()) & set(range(128)) - set(found.train.which.tolist())
    assert found.sizes == {"channels": 1, "height": 8, "width": 8, "classes": 2}


def test_several_files_are_joined(place: Path) -> None:
    found = prepared(place, 'data.train=["train.npz", "test.npz"]')
    assert found.train.epoch()[1] == 160
    assert "160 training pictures of 8 × 8 pixels, 2 classes" in found.summary


def test_other_pictures_are_not_resumed_with(place: Path) -> None:
    prepared(place)
    (place / "test.npz").rename(place / "train.npz")
    with pytest.raises(RegardError, match="changed since this run began"):
        prepared(place)


def test_rare_classes_count_more_where_asked(place: Path) -> None:
    pixels, labels = bars(40, 1)
    labels[:] = "lying"
    labels[:10] = "standing"
    np.savez(place / "train.npz", pictures=pixels, labels=labels)
    found = prepared(place, "training.loss.weights=balanced")
    assert sorted(found.train.weights.unique().tolist()) == pytest.approx([40 / 60, 2.0])


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (["lying"] * 8, "there must be two classes at least, but there are: lying"),
        (None, "there must be two classes at least, but there are: none"),
    ],
)
def test_too_few_classes_are_one_sentence(place: Path, labels: list[str] | None, sentence: str) -> None:
    arrays = {"pictures": bars(8, 1)[0]} | ({} if labels is None else {"labels": np.array(labels)})
    np.savez(place / "train.npz", **arrays)
    with pytest.raises(RegardError, match=sentence):
        prepared(place)


def test_a_class_that_training_did_not_see_is_one_sentence(place: Path) -> None:
    np.savez(place / "dev.npz", pictures=bars(2, 1)[0], labels=np.array(["lying", "leaning"]))
    with pytest.raises(RegardError, match=r"dev\.npz: the class 'leaning' does not occur in the training data"):
        prepared(place)


def test_a_model_that_reads_no_pictures_is_refused(place: Path) -> None:
    with pytest.raises(
        RegardError, match=r"the task pictures gives channels and height and width .* models for it are: "
    ):
        read_run(place / "run.toml", ['model={name="bert"}'])


def test_wrong_settings(place: Path) -> None:
    with pytest.raises(RegardError, match="hold_out must be at least 0 and below 1"):
        read_run(place / "run.toml", ["data.hold_out=1.0"])
    with pytest.raises(RegardError, match="channels must be 1 or 3"):
        read_run(place / "run.toml", ["data.channels=2"])


def test_doctor_knows_pictures(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "run.toml", "--seconds", "1"]) == 0
    assert "classes: lying" in capsys.readouterr().out


def test_validation_reads_the_dev_set_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_run(place / "run.toml")
    prepared = run.task.prepare(place, place)
    model, passes = run.model.build(prepared.sizes).eval(), list[int]()
    model.register_forward_hook(lambda *_: passes.append(1))
    with torch.no_grad():
        found = run.task.metrics(model, prepared)
        logits = torch.cat([model(item.pictures) for item in prepared.dev])
    labels = torch.cat([item.labels for item in prepared.dev])
    assert found["accuracy"] == pytest.approx((logits.argmax(-1) == labels).float().mean().item())
    assert found["loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, labels).item(), rel=1e-5)
    assert len(passes) == 2 * len(prepared.dev)  # one by the task, one above
