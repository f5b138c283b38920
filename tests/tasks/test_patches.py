from pathlib import Path

import pytest
import torch

from regard.apps.cli import main
from regard.data.digits import write_digits
from regard.decoding.patch_filler import PatchFiller
from regard.loading import load
from regard.models.vit import Vit
from regard.representation.probing import probe
from regard.tasks.run import read_run
from regard.tasks.start import Started, base_of

from .picture_run import write_bars

CHANGES = ["task=patches", "name=mae", "training.metric=loss", "training.steps=40"]
MODEL = 'model={name="mae", layers=1, width=16, heads=2, patch=2, decoder_layers=1, decoder_width=16, decoder_heads=2}'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_bars(tmp_path)
    return tmp_path


def test_hidden_patches_are_learned(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [part for change in (*CHANGES, MODEL) for part in ("--set", change)]
    assert main(["train", "run.toml", *settings]) == 0
    assert main(["evaluate", "runs/mae", "test.npz"]) == 0
    error = float(capsys.readouterr().out.split("error of hidden patches ")[-1].split()[0])
    assert error < 0.95  # 1 - 1/4 is that of the mean of each patch of four pixels
    filler = load("runs/mae", expect=PatchFiller)
    images = filler.read("test.npz")
    (first, *_) = filler.fill(images)
    assert int(first.hidden.sum()) == 48
    seen = ~first.hidden
    torch.testing.assert_close(first.filled[0][seen], first.pixels[0][seen], atol=1e-5, rtol=0)
    assert not torch.allclose(first.filled[0][first.hidden], first.pixels[0][first.hidden], atol=1e-3)


def test_a_probe_finds_more_of_digits_than_in_the_untrained_encoder(place: Path) -> None:
    made = write_digits(place / "digits")
    data = [f'data.train=["{made["train"]}"]', f'data.dev=["{made["dev"]}"]', "batches.pictures=64", "hiding.rate=0.5"]
    wider = MODEL.replace("width=16", "width=32").replace("layers=1", "layers=2", 1)
    steps = ["training.steps=400", "training.validate_every=400", "training.optimizer.learning_rate=0.003"]
    steps += ['training.schedule={name="cosine", warmup=50}', "augment.shift=0.0"]
    settings = [part for change in (*CHANGES, wider, *data, *steps) for part in ("--set", change)]
    assert main(["train", "run.toml", *settings]) == 0
    found = probe("runs/mae", made["train"], test=made["test"], shots=(4,), draws=2)
    own, untrained, raw = found.encoders
    assert (untrained.name, raw.name) == ("random weights", "raw input")
    assert own.probe.accuracy > untrained.probe.accuracy + 0.1
    assert own.shots[0].mean > untrained.shots[0].mean + 0.1


def test_the_encoder_has_the_names_of_a_vit(place: Path) -> None:
    run = read_run(place / "run.toml", [*CHANGES, MODEL])
    sizes = {"channels": 1, "height": 8, "width": 8}
    guessing = run.model.build(sizes).state_dict()
    vit = Vit(layers=1, width=16, heads=2, patch=2).build(sizes | {"classes": 2})
    missing = vit.load_state_dict(
        {name: weight for name, weight in guessing.items() if name in vit.state_dict()}, strict=False
    )
    assert missing.missing_keys == ["head.weight", "head.bias"]


def test_its_encoder_is_fine_tuned_as_a_vit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = [part for change in (*CHANGES, MODEL, "training.steps=2") for part in ("--set", change)]
    assert main(["train", "run.toml", *settings]) == 0
    (place / "set").mkdir()
    for part in ("train", "dev", "test"):
        (place / f"{part}.npz").rename(place / "set" / f"{part}.npz")
    assert main(["init", "set", "--from", "runs/mae", "--out", "tune.toml", "--name", "tuned"]) == 0
    begun = read_run(place / "tune.toml")
    (place / "tried").mkdir()
    prepared = begun.task.prepare(place / "tried", place)
    model = Started(begun, prepared, base_of(begun, place)).model()
    base = load("runs/mae", expect=PatchFiller).model.state_dict()
    own = model.state_dict()
    assert {name for name in own if name not in base} == {"head.weight", "head.bias"}
    assert all(torch.equal(own[name], base[name]) for name in own if name in base)
    assert main(["train", "tune.toml", "--set", "training.steps=40"]) == 0
    assert main(["evaluate", "runs/tuned", "set/test.npz"]) == 0
    assert "accuracy" in capsys.readouterr().out
