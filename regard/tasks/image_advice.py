"""Recommended settings for pictures: a run.toml with reasons in words."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from regard.base.errors import UsageError
from regard.data.image_arrays import IDX_NAME, SetPart
from regard.data.image_files import by_class, looks_like_images, open_picture, read_images, shape_of
from regard.models.model import MODELS
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_files import relative_paths

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
# {reason}
name = {name}
task = "pictures"

[data]
train = {train}
{dev}height = {height}                    # picture files are cut and scaled to this size
width = {width}
channels = {channels}                   # 1: gray, 3: in color

[batches]
pictures = {batch}                  # a step learns from this many

[augment]                      # random changes of training pictures that leave their class as it is
crop = 0.8                     # the smallest share of the area that is cut out and scaled up
turn = 10.0                    # degrees

[training]
{base}steps = {steps}
patience = 20                  # early stopping after this many validations without improvement
validate_every = {every}
checkpoint_every = {every}
metric = "accuracy"            # the validation metric that decides: early stopping, best checkpoint
clip = 1.0

[training.loss]
smoothing = 0.1

[training.optimizer]
name = "{optimizer}"
learning_rate = {rate}
weight_decay = 0.05

[training.schedule]
name = "cosine"
warmup = {warmup}

{model}"""
_SETS: Mapping[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test", "testing"),
}
_LARGEST = 64
_STEPS = 4_000


def image_sets(files: Sequence[Path]) -> dict[str, Path] | None:
    """The training, dev and test sets that a path holds, or None if it holds no pictures with classes.

    A folder may have folders train, dev (or val) and test in it, each with its classes, or MNIST's four idx files.
    """
    if len(files) != 1:
        return None
    (path,) = files
    if not path.is_dir():
        return {"train": path} if looks_like_images(path) else None
    idx = {file.name: file for file in path.iterdir() if IDX_NAME.search(file.name)}
    below = {
        part: next((path / name for name in names if (path / name).is_dir()), None) for part, names in _SETS.items()
    }
    arrays = {part: path / f"{part}.npz" for part in _SETS if (path / f"{part}.npz").is_file()}
    named = {"train": [name for name in idx if "train" in name], "test": [name for name in idx if "t10k" in name]}
    for found in (
        {part: idx[names[0]] for part, names in named.items() if names},
        {part: folder for part, folder in below.items() if folder is not None and looks_like_images(folder)},
        {part: file for part, file in arrays.items() if looks_like_images(file)},
    ):
        if "train" in found:
            return found
    return {"train": path} if looks_like_images(path) else None


@dataclass(frozen=True)
class PictureModelChoice:
    """The model of a run, the size of its pictures, and how it learns."""

    table: str
    """[model], as run.toml has it"""
    words: str
    channels: int
    height: int
    width: int
    optimizer: str = "muon"
    rate: float = 2e-3
    epochs: int = 45
    base: str = ""
    """the lines of [training] that name the model to begin with"""


def image_settings(
    sets: Mapping[str, Path], wishes: Wishes, choose: Callable[..., PictureModelChoice] | None = None
) -> Advice:
    """A run.toml for pictures with classes; `choose` gives the model for pictures of channels, height and width."""
    given: dict[str, tuple[Path, ...]] = {part: (path,) for part, path in sets.items()}
    given |= {part: files for part, files in (("dev", wishes.dev), ("test", wishes.test)) if files}
    count, classes, *shape = _looked_at(sets["train"])
    chosen = (choose or partial(_new_model, wishes))(*shape)
    batch = 32 if count < 5_000 else 64
    steps = max(1, -(-count * 9 // 10 // batch))
    reason = f"{count:,} pictures of {classes} classes, seen at {chosen.height} × {chosen.width} pixels: {chosen.words}"
    held = f"dev = {relative_paths(given['dev'], wishes.out)}\n" if "dev" in given else "hold_out = 0.1\n"
    text = _TEMPLATE.format(
        out=wishes.out,
        reason=reason,
        name=json.dumps(wishes.name or sets["train"].resolve().name.split(".")[0], ensure_ascii=False),
        train=relative_paths(given["train"], wishes.out),
        dev=held,
        height=chosen.height,
        width=chosen.width,
        channels=chosen.channels,
        batch=batch,
        base=chosen.base,
        steps=min(_STEPS, chosen.epochs * steps),
        every=min(200, steps),
        optimizer=chosen.optimizer,
        rate=chosen.rate,
        warmup=min(200, 5 * steps),
        model=chosen.table,
    )
    after = f"test set: regard evaluate RUN {sets['test']}" if "test" in sets and not wishes.test else ""
    return Advice(text, (reason, after) if after else (reason,))


def _new_model(wishes: Wishes, channels: int, height: int, width: int) -> PictureModelChoice:
    model = wishes.model or "vit"
    if model not in ("vit", "swin", "cnn"):
        raise UsageError(f"init: {model} does not read pictures; vit, swin and cnn do")
    high, wide, sizes = _fitting(model, height, width, wishes.preset)
    waves = 'patch_positions = "waves"      # rows and columns as sines at first, then learned\n'
    return PictureModelChoice(
        f'[model]\nname = "{model}"                   # vit, swin or cnn\n{sizes}\n{waves if model == "vit" else ""}',
        model,
        channels,
        high,
        wide,
        optimizer="adam" if model == "cnn" else "muon",  # as good there, and its steps are cheaper
        rate=5e-3 if model == "vit" else 2e-3,
    )


def _looked_at(path: Path, part: SetPart = "train") -> tuple[int, int, int, int, int]:
    """How many pictures and classes there are, and the shape of the first picture."""
    if path.is_dir():
        found = by_class(path)
        shape = shape_of(open_picture(found[0][0]))
        return len(found), len({label for _, label in found}), shape.channels or 3, shape.height or 1, shape.width or 1
    images = read_images(path, part=part)
    return len(images.which), len(set(images.labels)), *images.shape


def _fitting(model: str, height: int, width: int, preset: str | None) -> tuple[int, int, str]:
    """A size of pictures that the model can take, and its settings; large pictures are made small."""
    scale = min(1.0, _LARGEST / max(height, width))
    high, wide = max(8, round(height * scale)), max(8, round(width * scale))
    small = max(high, wide) <= 16
    chosen = preset or ("digits" if small else "mini")
    settings = MODELS.get(model).presets.get(chosen, {})  # type: ignore[attr-defined]
    step = int(settings.get("patch", 1)) * (2 if model == "swin" else 1)
    if (high, wide) == (height, width) and not (height % step or width % step):
        return height, width, f'preset = "{chosen}"'
    return -(-high // step) * step, -(-wide // step) * step, f'preset = "{chosen}"'
