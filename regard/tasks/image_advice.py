"""Recommended settings for pictures: a run.toml with reasons in words."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

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
{augment}
[training]
{base}{lanes}steps = {steps}
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
_AUGMENT = """
[augment]                      # random changes of training pictures that leave their class as it is
crop = 0.8                     # the smallest share of the area that is cut out and scaled up
turn = 10.0                    # degrees
"""
_ASKED = """\
[model]
name = "cnn"                   # a question scales and shifts the channels of its layers (FiLM)
preset = "{preset}"
asked_at = 5                   # from this layer on
answer = "hidden"              # two hidden layers relate what the picture tells
"""
_SETS: Mapping[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "dev": ("dev", "val", "valid", "validation"),
    "test": ("test", "testing"),
}
_WAVES = 'patch_positions = "waves"      # rows and columns as sines at first, then learned\n'
_MEAN = 'pooling = "mean"               # of all patches; "first": of the class token alone, as in transformers\n'
_NEIGHBORS = 'relative_bias = "neighbors"    # each attention head looks at another neighbor at first, then learns\n'
_SETTINGS = {"vit": (_WAVES, 5e-3), "swin": ("", 2e-3)}
"""of pictures as small as digits: settings of the model, and the learning rate"""
_LARGER = {"vit": (_WAVES + _MEAN, 5e-3), "swin": (_NEIGHBORS, 5e-3)}
_LARGEST = 64
_MOST_PATCHES = 16
"""along one side of a picture"""


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
    steps: int = 4_000
    """at most so many, however many pictures there are"""
    base: str = ""
    """the lines of [training] that name the model to begin with"""


class _Looked(NamedTuple):
    """What there is to learn from."""

    pictures: int
    examples: int
    classes: int
    channels: int
    height: int
    width: int
    scalable: bool
    """whether pictures are scaled when they are read, which arrays are not"""
    asks: bool
    """whether there are questions about the pictures"""

    @property
    def words(self) -> str:
        """How many pictures or questions of how many classes there are."""
        what = (
            f"{self.examples:,} questions about {self.pictures:,} pictures"
            if self.asks
            else f"{self.pictures:,} pictures"
        )
        return f"{what}, {self.classes} answers" if self.asks else f"{what} of {self.classes} classes"


def image_settings(
    sets: Mapping[str, Path], wishes: Wishes, choose: Callable[..., PictureModelChoice] | None = None
) -> Advice:
    """A run.toml for pictures with classes; `choose` gives the model for what was found of them."""
    given: dict[str, tuple[Path, ...]] = {part: (path,) for part, path in sets.items()}
    given |= {part: files for part, files in (("dev", wishes.dev), ("test", wishes.test)) if files}
    looked = _looked_at(sets["train"])
    chosen = (choose or partial(_new_model, wishes))(looked)
    batch = 16 if looked.asks else 32 if looked.pictures < 5_000 else 64
    steps = max(1, -(-looked.pictures * 9 // 10 // batch))
    reason = f"{looked.words}, seen at {chosen.height} × {chosen.width} pixels: {chosen.words}"
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
        augment="" if looked.asks else _AUGMENT,  # what is left or near would change
        lanes="lanes = 1                      # batch norm sees all pictures of a step\n" if looked.asks else "",
        base=chosen.base,
        steps=min(chosen.steps, chosen.epochs * steps),
        every=min(200, steps),
        optimizer=chosen.optimizer,
        rate=chosen.rate,
        warmup=min(200, 5 * steps),
        model=chosen.table,
    )
    after = f"test set: regard evaluate RUN {sets['test']}" if "test" in sets and not wishes.test else ""
    return Advice(text, (reason, after) if after else (reason,))


def _new_model(wishes: Wishes, looked: _Looked) -> PictureModelChoice:
    model = wishes.model or ("cnn" if looked.asks else "vit")
    if model not in ("vit", "swin", "cnn"):
        raise UsageError(f"init: {model} does not read pictures; vit, swin and cnn do")
    if looked.asks:
        return _asked_model(model, wishes, looked)
    fitting = _fitting(model, looked, wishes.preset)
    if fitting is None and wishes.model:
        size = f"{looked.height} × {looked.width}"
        raise UsageError(f"init: arrays of {size} pixels cannot be cut into equal patches for {model}; use --model cnn")
    if fitting is None:
        model, fitting = "cnn", (looked.height, looked.width, wishes.preset or "mini", "")
    high, wide, preset, patch = fitting
    settings, rate = (_SETTINGS if preset == "digits" else _LARGER).get(model, ("", 2e-3))
    return PictureModelChoice(
        f'[model]\nname = "{model}"                   # vit, swin or cnn\npreset = "{preset}"\n{patch}{settings}',
        model,
        looked.channels,
        high,
        wide,
        optimizer="adam" if model == "cnn" else "muon",  # as good there, and its steps are cheaper
        rate=rate,
        steps=2_000 if model == "swin" else 4_000,  # beginning with neighbors, it needs fewer than a ViT
    )


def _asked_model(model: str, wishes: Wishes, looked: _Looked) -> PictureModelChoice:
    """A CNN that is asked: it alone reads questions; see docs/images.md."""
    if model != "cnn":
        raise UsageError(f"init: {model} reads pictures alone, but here are questions about them; use --model cnn")
    table = _ASKED.format(preset=wishes.preset or "relations")
    return PictureModelChoice(table, model, looked.channels, looked.height, looked.width, rate=5e-3)


def _looked_at(path: Path, part: SetPart = "train") -> _Looked:
    """How many pictures and classes there are, and the shape of the first picture."""
    if path.is_dir():
        found = by_class(path)
        shape = shape_of(open_picture(found[0][0]))
        sizes = shape.channels or 3, shape.height or 1, shape.width or 1
        return _Looked(len(found), len(found), len({label for _, label in found}), *sizes, scalable=True, asks=False)
    images = read_images(path, part=part)
    counts = len(images.which.unique()), len(images.which), len(set(images.labels))
    return _Looked(*counts, *images.shape, scalable=False, asks=images.questions is not None)


def _fitting(model: str, looked: _Looked, preset: str | None) -> tuple[int, int, str, str] | None:
    """A size of pictures that the model can take, its preset, and a patch of another size; none if it can take none.

    Large picture files are made small; arrays stay as they are, so patches have to divide them.
    """
    height, width = looked.height, looked.width
    scale = min(1.0, _LARGEST / max(height, width)) if looked.scalable else 1.0
    high, wide = max(8, round(height * scale)), max(8, round(width * scale))
    chosen = preset or ("digits" if max(high, wide) <= 16 else "mini")
    settings = MODELS.get(model).presets.get(chosen, {})  # type: ignore[attr-defined]
    merged, patch = 2 if model == "swin" else 1, int(settings.get("patch", 1))
    if looked.scalable or model == "cnn":
        step = patch * merged
        return -(-high // step) * step, -(-wide // step) * step, chosen, ""
    fits = [
        size
        for size in range(1, min(height, width) + 1)
        if not (height % (size * merged) or width % (size * merged)) and max(height, width) <= _MOST_PATCHES * size
    ]
    if not fits:
        return None
    nearest = min(fits, key=lambda size: abs(size - patch))
    return height, width, chosen, "" if nearest == patch else f"patch = {nearest}\n"
