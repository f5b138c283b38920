import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.apps.cli import main
from regard.base.errors import UsageError
from regard.data.relations import write_relations
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


@pytest.mark.parametrize(
    ("model", "side", "settings", "rate"),
    [
        ("vit", 28, {"patch_positions": "waves", "pooling": "mean"}, 0.005),
        ("vit", 8, {"patch_positions": "waves"}, 0.005),
        ("swin", 28, {"relative_bias": "neighbors"}, 0.005),
        ("swin", 8, {}, 0.002),
        ("cnn", 28, {}, 0.002),
    ],
)
def test_the_settings_of_each_model(
    tmp_path: Path, model: str, side: int, settings: dict[str, str], rate: float
) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((4, side, side), np.uint8), labels=[0, 1, 0, 1])
    advice = image_settings({"train": tmp_path / "a.npz"}, Wishes(model=model, out=tmp_path / "run.toml"))
    table = tomllib.loads(advice.text)
    assert table["model"] == {"name": model, "preset": "digits" if side == 8 else "mini", **settings}
    assert table["training"]["optimizer"]["learning_rate"] == rate


@pytest.mark.parametrize(("model", "steps"), [("vit", 4_000), ("swin", 2_000), ("cnn", 4_000)])
def test_many_pictures_do_not_make_a_long_training(tmp_path: Path, model: str, steps: int) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((9_000, 8, 8), np.uint8), labels=np.arange(9_000) % 2)
    advice = image_settings({"train": tmp_path / "a.npz"}, Wishes(model=model, out=tmp_path / "run.toml"))
    assert tomllib.loads(advice.text)["training"]["steps"] == steps


@pytest.mark.parametrize("size", [75, 33, 100, 224])
@pytest.mark.parametrize("model", ["vit", "swin", "cnn", None])
def test_arrays_are_not_scaled_so_patches_divide_them(model: str | None, size: int, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((4, size, size), np.uint8), labels=[0, 1, 0, 1])
    wishes = Wishes(model=model, out=tmp_path / "run.toml")
    if model == "swin" and size % 2:
        with pytest.raises(UsageError, match="cannot be cut into equal patches for swin; use --model cnn"):
            image_settings({"train": tmp_path / "a.npz"}, wishes)
        return
    run = run_of(tomllib.loads(image_settings({"train": tmp_path / "a.npz"}, wishes).text), "run")
    assert (run.task.data.height, run.task.data.width) == (size, size)
    run.model.build({"channels": 1, "height": size, "width": size, "classes": 2})
    assert model == "cnn" or (size % run.model.patch == 0 and size // run.model.patch <= 16)


def test_arrays_that_no_patch_divides_are_read_by_a_cnn(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((4, 37, 41), np.uint8), labels=[0, 1, 0, 1])
    settings = tomllib.loads(image_settings({"train": tmp_path / "a.npz"}, Wishes(out=tmp_path / "run.toml")).text)
    assert settings["model"] == {"name": "cnn", "preset": "mini"}
    with pytest.raises(UsageError, match="arrays of 37 × 41 pixels cannot be cut into equal patches for vit"):
        image_settings({"train": tmp_path / "a.npz"}, Wishes(model="vit"))


def test_questions_about_pictures_are_asked_of_a_cnn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_relations(tmp_path, {"train": 20, "dev": 4, "test": 4}, 30)
    advice = image_settings({"train": tmp_path / "train.npz"}, Wishes(out=tmp_path / "run.toml"))
    assert advice.reasons[0].startswith("400 questions about 20 pictures, ")
    assert "augment" not in tomllib.loads(advice.text)
    (tmp_path / "run.toml").write_text(advice.text, encoding="utf-8")
    assert main(["train", "run.toml", "--set", "training.steps=2", "--set", "training.validate_every=2"]) == 0
    assert main(["evaluate", "runs/train", "test-relational.npz"]) == 0
    with pytest.raises(
        UsageError, match="vit reads pictures alone, but here are questions about them; use --model cnn"
    ):
        image_settings({"train": tmp_path / "train.npz"}, Wishes(model="vit"))
