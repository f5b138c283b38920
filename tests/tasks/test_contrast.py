from pathlib import Path

import numpy as np
import pytest

from regard.apps.cli import main
from regard.base.errors import ConfigError, UsageError
from regard.decoding.code_model import CodeModel
from regard.loading import load
from regard.models.vae import Vae
from regard.tasks.contrast import Contrast
from regard.tasks.run import read_run

RUN = """
name = "views"
task = "contrast"
[data]
train = ["rows.npz"]
batch = 16
[model]
name = "contrastive"
width = 8
layers = 2
code = 6
projection = 4
[training]
steps = 6
validate_every = 3
checkpoint_every = 6
metric = "found"
[training.loss]
temperature = 0.2
[training.schedule]
name = "constant"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(RUN, encoding="utf-8")
    np.savez(tmp_path / "rows.npz", inputs=np.random.default_rng(1).normal(size=(60, 12)).astype(np.float32))
    return tmp_path


def test_features_are_learned_without_labels(place: Path) -> None:
    assert main(["train", "run.toml"]) == 0
    opened = load("runs/views", expect=CodeModel)
    assert opened.embed(np.zeros((2, 12), np.float32)).shape == (2, 6)
    with pytest.raises(UsageError, match="makes no inputs of codes"):
        opened.reconstruct(np.zeros((2, 12), np.float32))


def test_both_views_are_of_the_same_example(place: Path) -> None:
    still = [f"views.{name}=0.0" for name in ("shift", "stretch", "gain", "noise", "mask")]
    found = read_run(place / "run.toml", still).task.prepare(place, place)
    _, batch = next(found.train.walk())
    np.testing.assert_allclose(batch.first, batch.second)
    moving = read_run(place / "run.toml").task.prepare(place, place)
    _, batch = next(moving.train.walk())
    assert not np.allclose(batch.first, batch.second)


def test_mistakes_are_one_sentence(place: Path) -> None:
    with pytest.raises(ConfigError, match="temperature must be more than 0"):
        read_run(place / "run.toml", ["training.loss.temperature=0.0"])
    with pytest.raises(ConfigError, match="asks for a ContrastiveModel, which a VaeModel is not"):
        Contrast.check_offer(Vae(code=2, width=4).build({"numbers": 3}))
