"""Classification of pictures: which class a picture has, from folders of files by class or from arrays."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from regard.base.errors import ConfigError, RegardError
from regard.base.files import read_text, write_text
from regard.data.checkup import Checkup
from regard.data.image_arrays import ImageSet, SetPart
from regard.data.image_files import Shape, looks_like_images, read_images
from regard.data.images import Augment, ImageBatches, ImageBatchSettings, LabeledImages, Shades
from regard.data.labels import balanced_weights, class_counts
from regard.decoding.image_classifier import ImageClassifier, label_numbers
from regard.decoding.strategy import Strategy
from regard.metrics.classification import class_metrics, class_scores
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.pictured import PICTURE_SIZES, PictureModel
from regard.runs.artifact import Artifact
from regard.tasks.class_loss import ClassLoss, learns
from regard.tasks.class_outputs import write_classes
from regard.tasks.image_advice import image_sets, image_settings
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.tasks.texts import one_model, refuse_other
from regard.training.loss import Loss
from regard.training.validation import losses_and_answers


@dataclass(frozen=True, kw_only=True)
class ImageData:
    """The pictures, and the shape in which the model sees them."""

    train: tuple[Path, ...]
    """folders with a folder of PNG or JPEG files for each class, .npz or .npy files, or idx files as MNIST has them"""
    dev: tuple[Path, ...] | None = None
    """the validation set, in the same formats; none: some of the training pictures, see hold_out"""
    hold_out: float = 0.0
    """the share of the training pictures that is not trained on, but validated on; where dev is none"""
    height: int | None = None
    """picture files are scaled to this many rows of pixels; none: those of the first picture"""
    width: int | None = None
    """picture files are scaled to this many columns of pixels; none: those of the first picture"""
    channels: int | None = None
    """1: gray, 3: red, green and blue; none: as the first picture"""

    def __post_init__(self) -> None:
        if not 0 <= self.hold_out < 1:
            raise ConfigError(f"data: hold_out must be at least 0 and below 1, but is {self.hold_out}")
        if self.channels not in (None, 1, 3):
            raise ConfigError(f"data: channels must be 1 or 3, but is {self.channels}")

    def read(self, files: Sequence[Path], folder: Path, part: SetPart, shape: Shape) -> ImageSet:
        """All pictures of some files; relative names start at `folder`."""
        sets: list[ImageSet] = []
        for file in files:
            sets.append(read_images(folder / file, shape, part))
            shape = Shape(*sets[0].shape)
        return sets[0] if len(sets) == 1 else _joined(sets, folder / files[0])


@dataclass(frozen=True, kw_only=True)
class PreparedImages(Prepared):
    """Prepared pictures, with the names of their classes and how their brightness is normalized."""

    classes: tuple[str, ...]
    shades: Shades
    frequency: Tensor
    """how many training examples each class has"""

    @property
    def items(self) -> list[LabeledImages]:
        """The dev set as batches."""
        return [item for item in self.dev if isinstance(item, LabeledImages)]


@dataclass(frozen=True, kw_only=True)
class Pictures(Task):
    """The settings of a classification of pictures beside model and training."""

    unit: ClassVar[str] = "pictures"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "calibration"})
    sizes: ClassVar[tuple[str, ...]] = (*PICTURE_SIZES, "question")
    offers: ClassVar[type] = PictureModel

    data: ImageData
    batches: ImageBatchSettings = field(default_factory=ImageBatchSettings)
    augment: Augment = field(default_factory=Augment)
    class_loss: ClassLoss = field(default_factory=ClassLoss, metadata={"path": "training.loss"})

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        return bool(data["train"]) and all(looks_like_images(Path(file)) for file in data["train"])

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        found = image_sets(files)
        return None if found is None else image_settings(found, wishes)

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedImages:
        say("reading pictures")
        asked = Shape(self.data.channels, self.data.height, self.data.width)
        train = self.data.read(self.data.train, data, "train", asked)
        where = " and ".join(str(data / file) for file in self.data.train)
        refuse_other(image_digest(train), f"data.train: {where}", folder / "text.sha256")
        classes = _kept_classes(train, folder / "classes.json", where)
        if self.data.dev is not None:
            places = " and ".join(str(data / file) for file in self.data.dev)
            dev = self.data.read(self.data.dev, data, "dev", Shape(*train.shape))
        else:
            places, (train, dev) = where, held_out_images(train, self.data.hold_out, self.batches.seed)
        shades = Shades.of(train.pixels[train.which.unique()])
        made = self._batches(train, classes, shades, where)
        channels, height, width = train.shape
        asked_for = {} if train.questions is None else {"question": train.questions.shape[1]}
        return PreparedImages(
            sizes={**dict(zip(PICTURE_SIZES, (channels, height, width, len(classes)), strict=True)), **asked_for},
            train=made,
            dev=self._batches(dev, classes, shades, places).all() if len(dev.which) else (),
            summary=f"{_counted(train)} of {height} × {width} pixels, {len(classes)} classes",
            classes=classes,
            shades=shades,
            frequency=class_counts(made.labels, len(classes)),
        )

    def loss(self, model: PictureModel, item: LabeledImages) -> Loss:
        """Cross-entropy."""
        return self._loss_and_logits(model, item)[0]

    def metrics(self, model: PictureModel, prepared: PreparedImages) -> dict[str, float]:
        """The loss, accuracy, macro F1, Matthews' correlation and the calibration error."""

        def judged(model: PictureModel, item: LabeledImages) -> tuple[Loss, list[list[float]]]:
            loss, logits = self._loss_and_logits(model, item)
            return loss, logits.float().softmax(-1).tolist()

        found, answers = losses_and_answers(model, prepared.dev, judged)
        true = torch.cat([item.labels for item in prepared.items])
        return found | class_metrics(true.numpy(), np.concatenate(answers))

    def _loss_and_logits(self, model: PictureModel, item: LabeledImages) -> tuple[Loss, Tensor]:
        each, logits = self.class_loss.read(lambda: model(*item.parts), item.labels, learning=learns(model))
        return Loss((each * item.weights.to(each)).sum(), item.count), logits

    def extras(self, design: Design, model: Any, prepared: PreparedImages) -> dict[str, Any]:
        """The names of the classes, and how brightness is normalized."""
        return {"classes": list(prepared.classes), "shades": shade_table(prepared.shades)}

    def check(self, prepared: PreparedImages, data: Path, test: Sequence[Path] = ()) -> Checkup:
        counts = [f"{label} {int(count):,}" for label, count in zip(prepared.classes, prepared.frequency, strict=True)]
        return Checkup(facts=(prepared.summary, f"classes: {', '.join(counts)}"), findings=[])

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[PictureModel],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> ImageClassifier:
        """A classifier of pictures."""
        artifact, model = one_model(artifacts, models)
        shades, sizes = artifact.extras["shades"], artifact.sizes
        return ImageClassifier(
            model,
            artifact.extras["classes"],
            Shades(tuple(shades["mean"]), tuple(shades["deviation"])),
            Shape(sizes["channels"], sizes["height"], sizes["width"]),
        )

    @classmethod
    def evaluate(cls, opened: ImageClassifier, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Accuracy, macro F1, Matthews' correlation and the calibration error on pictures with classes."""
        sets = [opened.read(file) for file in files]
        true = torch.cat([opened.numbers(one, str(file)) for one, file in zip(sets, files, strict=True)])
        with how.measured(len(true), "pictures"):
            chances = torch.cat([opened.probabilities(one) for one in sets])
        if how.out is not None:
            answers = [opened.classes[at] for at in chances.argmax(-1).tolist()]
            write_classes(how.out, answers, true, chances, opened.classes)
        return class_scores(true.numpy(), chances.numpy())

    def _batches(self, images: ImageSet, classes: Sequence[str], shades: Shades, where: str) -> ImageBatches:
        labels = label_numbers(images.labels, classes, where)
        balanced = self.class_loss.weights == "balanced"
        weights = balanced_weights(labels, len(classes)) if balanced else torch.ones(len(labels))
        return ImageBatches(
            images.pixels, images.which, labels, weights, shades, self.batches, self.augment, images.questions
        )


def _kept_classes(images: ImageSet, kept: Path, where: str) -> tuple[str, ...]:
    """The classes in order, as they were when the run began."""
    if not kept.exists():
        numbers = all(label.isdecimal() for label in images.labels)
        found = sorted(set(images.labels), key=int if numbers else str)
        if len(found) < 2:
            raise RegardError(
                f"{where}: there must be two classes at least, but there are: {', '.join(found) or 'none'}"
            )
        write_text(kept, json.dumps(found, ensure_ascii=False))
    return tuple(json.loads(read_text(kept)))


def held_out_images(images: ImageSet, share: float, seed: int) -> tuple[ImageSet, ImageSet]:
    """The examples to learn from and those to validate on, parted by picture at random."""
    count = len(images.pixels)
    apart = torch.zeros(count, dtype=torch.bool)
    apart[np.random.default_rng(seed).permutation(count)[: round(share * count)]] = True
    return tuple(_some(images, (apart[images.which] == one).nonzero().flatten()) for one in (False, True))  # type: ignore[return-value]


def _some(images: ImageSet, chosen: Tensor) -> ImageSet:
    labels = tuple(images.labels[at] for at in chosen.tolist()) if images.labels else ()
    asked = None if images.questions is None else images.questions[chosen]
    return replace(images, labels=labels, which=images.which[chosen], questions=asked)


def _joined(sets: Sequence[ImageSet], where: Path) -> ImageSet:
    """Several sets as one."""
    asked = [one.questions for one in sets if one.questions is not None]
    if len({one.pixels.dtype for one in sets}) > 1 or len(asked) not in (0, len(sets)):
        raise RegardError(
            f"{where}: cannot be joined with the other files: their pixels or questions are of other kinds"
        )
    firsts = np.cumsum([0, *(len(one.pixels) for one in sets)])[:-1].tolist()
    return ImageSet(
        torch.cat([one.pixels for one in sets]),
        tuple(label for one in sets for label in one.labels),
        tuple(name for one in sets for name in one.names),
        torch.cat([one.which + first for one, first in zip(sets, firsts, strict=True)]),
        torch.cat(asked) if asked else None,
    )


def image_digest(images: ImageSet) -> str:
    """The hash of all pixels and labels."""
    made = hashlib.sha256(json.dumps([*images.shape, *images.labels]).encode())
    for array in (images.pixels, images.which, images.questions):
        if array is not None:
            made.update(array.numpy().tobytes())
    return made.hexdigest()


def shade_table(shades: Shades) -> dict[str, list[float]]:
    """How brightness is normalized, as a model file keeps it."""
    return {"mean": list(shades.mean), "deviation": list(shades.deviation)}


def _counted(images: ImageSet) -> str:
    pictures = f"{len(images.which.unique()):,} training pictures"
    return pictures if images.questions is None else f"{len(images.which):,} questions about {pictures}"
