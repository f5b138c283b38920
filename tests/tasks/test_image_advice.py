import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.apps.cli import main
from regard.base.errors import UsageError
from regard.tasks.image_advice import image_sets, image_settings
from regard.tasks.run import run_of
from regard.tasks.task import Wishes

from .picture_run import write_bars


def by_class(folder: Path, size: tuple[int, int] = (40, 30)) -> Path:
    for label in ("cat", "dog"):
        (folder / label).mkdir(parents=True)
        for number in range(3):
            Image.new("RGB", size, (number, 0, 0)).save(folder / label / f"{number}.png")
    return folder


def test_a_folder_by_class_is_recognized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    by_class(tmp_path / "pets")
    assert main(["init", "pets"]) == 0
    assert "6 pictures of 2 classes, seen at 32 × 40 pixels: vit" in capsys.readouterr().out
    settings = tomllib.loads((tmp_path / "run.toml").read_text(encoding="utf-8"))
    assert (settings["task"], settings["name"]) == ("pictures", "pets")
    assert settings["data"] == {"train": ["pets"], "hold_out": 0.1, "height": 32, "width": 40, "channels": 3}


def test_sets_of_a_folder(tmp_path: Path) -> None:
    by_class(tmp_path / "a" / "train")
    by_class(tmp_path / "a" / "val")
    found = image_sets([tmp_path / "a"])
    assert found == {"train": tmp_path / "a" / "train", "dev": tmp_path / "a" / "val"}
    (tmp_path / "b").mkdir()
    write_bars(tmp_path / "b")
    assert image_sets([tmp_path / "b"]) == {part: tmp_path / "b" / f"{part}.npz" for part in ("train", "dev", "test")}
    for name in ("train-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte.gz"):
        (tmp_path / name).touch()
    assert image_sets([tmp_path]) == {
        "train": tmp_path / "train-images-idx3-ubyte.gz", "test": tmp_path / "t10k-images-idx3-ubyte.gz",
    }  # fmt: skip
    assert image_sets([tmp_path / "b" / "run.toml"]) is None
    assert image_sets([tmp_path, tmp_path]) is None


@pytest.mark.parametrize("model", ["vit", "swin", "cnn"])
@pytest.mark.parametrize("shape", [(8, 8), (28, 28), (33, 100), (300, 200)])
def test_the_model_fits_the_pictures(model: str, shape: tuple[int, int], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((4, *shape), np.uint8), labels=[0, 1, 0, 1])
    sets = {"train": by_class(tmp_path / "files", shape)} if max(shape) > 28 else {"train": tmp_path / "a.npz"}
    advice = image_settings(sets, Wishes(model=model, out=tmp_path / "run.toml"))
    run = run_of(tomllib.loads(advice.text), "run")
    sizes = {"channels": 1, "height": run.task.data.height, "width": run.task.data.width, "classes": 2}
    run.model.build(sizes)
    assert max(sizes["height"], sizes["width"]) <= 72


def test_a_model_without_pictures_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((4, 8, 8), np.uint8), labels=[0, 1, 0, 1])
    with pytest.raises(UsageError, match="gpt does not read pictures; vit, swin and cnn do"):
        image_settings({"train": tmp_path / "a.npz"}, Wishes(model="gpt"))
