import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from regard.apps.cli import main
from regard.base.errors import ConfigError, RegardError
from regard.data.number_rows import binarized
from regard.data.plan import BatchPosition
from regard.decoding.code_model import CodeModel
from regard.loading import load
from regard.tasks.run import read_run

RUN = """
name = "codes"
task = "reconstruct"
[data]
source = "sprites(side=8, sizes=1, angles=2, places=4)"
batch = 16
[model]
name = "vae"
code = 3
width = 16
layers = 1
[training]
steps = 4
validate_every = 2
checkpoint_every = 4
metric = "elbo"
[training.schedule]
name = "constant"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(RUN, encoding="utf-8")
    np.savez(tmp_path / "rows.npz", inputs=np.random.default_rng(1).normal(size=(60, 5)).astype(np.float32))
    return tmp_path


def test_a_vae_is_trained_drawn_evaluated_and_embeds(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "run.toml"]) == 0
    assert (place / "runs/codes/codes.png").read_bytes().startswith(b"\x89PNG")
    opened = load("runs/codes", expect=CodeModel)
    assert opened.shape == (8, 8)
    assert opened.embed(np.zeros((2, 8, 8), np.float32)).shape == (2, 3)
    np.save(place / "test.npy", np.zeros((3, 8, 8), np.float32))
    assert main(["evaluate", "runs/codes", "test.npy"]) == 0
    assert "elbo -" in capsys.readouterr().out


def test_a_decomposition_is_computed_from_all_examples(place: Path) -> None:
    changes = ["data.source=none", 'data.train=["rows.npz"]', "model.name=decomposition", "model.code=2"]
    for gone in ("model.width", "model.layers"):
        text = (place / "run.toml").read_text(encoding="utf-8")
        (place / "run.toml").write_text(text.replace(f"{gone[6:]} = ", "# "), encoding="utf-8")
    changes += ["training.steps=1", "training.metric=loss"]
    assert main(["train", "run.toml", *(part for one in changes for part in ("--set", one))]) == 0
    rows = np.load(place / "rows.npz")["inputs"]
    learned, _ = read_run(place / "run.toml", changes).task.data.read(place)
    wanted = PCA(2, random_state=1).fit(learned.inputs.astype(np.float64)).transform(rows)
    np.testing.assert_allclose(load("runs/codes", expect=CodeModel).embed(rows), wanted, atol=1e-4)


def test_a_vae_of_zeros_and_ones_is_evaluated_on_such(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Grays are drawn once, so that the scores are nats of zeros and ones, and the same each time."""
    assert main(["train", "run.toml", "--set", "data.binarize=once", "--set", "training.steps=2"]) == 0
    grays = np.random.default_rng(1).random((30, 8, 8)).astype(np.float32)
    np.save(place / "test.npy", grays)
    drawn = binarized(grays.reshape(30, 64), "once", np.random.default_rng([1, 3, 3, 3]))
    opened = load("runs/codes", expect=CodeModel)
    capsys.readouterr()
    assert main(["evaluate", "runs/codes", "test.npy", "--bound", "50", "--json"]) == 0
    found = {score["name"]: score["value"] for score in json.loads(capsys.readouterr().out)["scores"]}
    assert found["elbo"] == pytest.approx(opened.losses(drawn)["elbo"])
    assert found["elbo"] != pytest.approx(opened.losses(grays)["elbo"])
    assert found["bound"] == opened.bound(drawn, 50) > found["elbo"]


def test_only_a_vae_has_a_bound(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["model.name=autoencoder", "training.metric=loss"]
    assert main(["train", "run.toml", *(part for one in changes for part in ("--set", one))]) == 0
    np.save(place / "test.npy", np.zeros((3, 8, 8), np.float32))
    assert main(["evaluate", "runs/codes", "test.npy", "--bound", "5"]) == 2
    assert "has no bound on the likelihood; a vae has" in capsys.readouterr().err


def prepared(place: Path, *changes: str) -> object:
    return read_run(place / "run.toml", changes).task.prepare(place, place)


def test_pixels_are_drawn_anew_and_the_capacity_grows(place: Path) -> None:
    found = prepared(place, "data.binarize=dynamic", "data.ramp=80")
    first, again, later = (found.train.at(BatchPosition(epoch=epoch)) for epoch in (0, 0, 1))
    assert set(first.inputs.unique().tolist()) == {0.0, 1.0}
    assert first.inputs.equal(again.inputs)
    assert not first.inputs.equal(later.inputs)
    assert (first.progress, later.progress) == (0.0, 1.0)
    assert set(np.unique(found.held.inputs)) == {0.0, 1.0}


def test_pixels_that_are_drawn_once_stay(place: Path) -> None:
    found, plain = prepared(place, "data.binarize=once", "data.batch=999"), prepared(place, "data.batch=999")
    first, later = (found.train.at(BatchPosition(epoch=epoch)).inputs for epoch in (0, 1))
    gray = plain.train.at(BatchPosition()).inputs
    assert set(first.unique().tolist()) == {0.0, 1.0}
    assert sorted(first.tolist()) == sorted(later.tolist())
    assert bool(((first == 1) <= (gray > 0)).all())
    assert abs(float(first.mean() - gray.mean())) < 0.02


def test_mistakes_are_one_sentence(place: Path) -> None:
    with pytest.raises(ConfigError, match="data: set either source, for examples without a download, or train"):
        prepared(place, 'data.train=["rows.npz"]')
    np.save(place / "other.npy", np.zeros((3, 4), np.float32))
    own = ("data.source=none", 'data.train=["rows.npz"]')
    with pytest.raises(RegardError, match=r"other.npy: its examples are \[4\], but those of training \[5\]"):
        prepared(place, *own, 'data.dev=["other.npy"]')
    with pytest.raises(RegardError, match=r"other.npy: its examples are \[4\], but those of rows.npz \[5\]"):
        prepared(place, "data.source=none", 'data.train=["rows.npz", "other.npy"]')
