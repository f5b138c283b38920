"""Captions: pictures and texts that belong together learn vectors in one space, by which one finds the other.

    loss = -Σ_i ½ (log softmax_j(s_ij)_i + log softmax_j(s_ji)_i)  [+ matching, where the model reads both]

CLIP: Radford et al., 2021, https://arxiv.org/abs/2103.00020. Pairs of a batch that have the same caption are not told
apart. Matching is the binary cross-entropy of each pair beside the likest wrong text and the likest wrong picture:
Li et al., ALBEF, 2021, https://arxiv.org/abs/2107.07651.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import ConfigError, RegardError, check_at_least
from regard.data.captioned import CaptionBatch, CaptionSet, captions_from, looks_captioned, read_captions
from regard.data.drawn import ShuffledBatches
from regard.data.framed import Frame, batch_of
from regard.data.image_files import Shape
from regard.data.images import Shades, brightness
from regard.data.number_rows import ROW_SOURCES
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.picture_texts import PictureTexts
from regard.metrics.quality import QualityScore
from regard.models.clip import ClipModel
from regard.models.model import Design
from regard.models.pictured import PICTURE_SIZES
from regard.runs.artifact import Artifact
from regard.tasks.pictures import shade_table
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.tasks.text_files import relative_paths
from regard.tasks.texts import SubwordChoice, one_model, refuse_other
from regard.training.contrast_loss import partner_loss
from regard.training.loss import Loss
from regard.training.validation import mean_losses

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
# {reason}
name = {name}
task = "captions"

[data]
train = {train}
{dev}height = {height}                    # picture files are cut and scaled to this size
width = {width}
batch = 64                     # a picture finds its caption among so many

[subwords]
kind = "word"

[model]
name = "clip"
layers = 4
width = 128
patch = {patch}

[training]
steps = {steps}
validate_every = {every}
checkpoint_every = {every}
metric = "captions_found"
clip = 1.0

[training.optimizer]
name = "adam"
learning_rate = 0.001
weight_decay = 0.05

[training.schedule]
name = "cosine"
warmup = {warmup}
"""


@dataclass(frozen=True, kw_only=True)
class CaptionData:
    """The pictures and captions, from a source without a download or from files."""

    source: Annotated[Any, ROW_SOURCES] = None
    """sprites, whose captions tell shape, size and place; none: the data are in `train`"""
    train: tuple[Path, ...] = ()
    """a .tsv of picture files and captions, or an .npz with pictures and captions"""
    dev: tuple[Path, ...] = ()
    """the same to validate on; by default a tenth of the training pictures"""
    height: int | None = None
    """picture files are scaled to this many rows of pixels; none: those of the first picture"""
    width: int | None = None
    """picture files are scaled to this many columns of pixels; none: those of the first picture"""
    batch: int = 64
    """the pairs of a batch, among which partners are found"""
    seed: int = 1
    """decides the order of the pairs, and which are held out"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", ROW_SOURCES.make(self.source, "data.source"))
        check_at_least("data", 2, batch=self.batch)
        check_at_least("data", 0, seed=self.seed)

    def read(self, folder: Path) -> tuple[CaptionSet, CaptionSet]:
        """The pairs to learn from, and those to validate on."""
        if (self.source is None) == (not self.train):
            raise ConfigError("data: set either source, for pictures without a download, or train, the files")
        shape = Shape(None, self.height, self.width)
        train = (
            captions_from(self.source, "data.source") if self.source is not None else _all(self.train, folder, shape)
        )
        if len(train) < 4:
            raise RegardError(f"data: {len(train)} captions are too few; partners are found among others, so give more")
        if not self.dev:
            return train.parts(0.1, self.seed)
        dev = _all(self.dev, folder, Shape(*train.pixels.shape[1:]))
        if dev.pixels.shape[1:] != train.pixels.shape[1:]:
            got, wanted = (" × ".join(map(str, one.pixels.shape[1:])) for one in (dev, train))
            raise RegardError(f"data.dev: its pictures are {got}, but those of training {wanted}")
        return train, dev


@dataclass(frozen=True, kw_only=True)
class PreparedCaptions(Prepared):
    """Pairs to validate on, and how pictures and texts are read."""

    held: CaptionSet
    subwords: Subwords
    shades: Shades


@dataclass(frozen=True, kw_only=True)
class Captions(Task):
    """The settings of pictures and captions beside model and training."""

    unit: ClassVar[str] = "pairs"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("text", *PICTURE_SIZES[:3])
    offers: ClassVar[type] = ClipModel

    data: CaptionData
    subwords: SubwordChoice = field(default_factory=lambda: SubwordChoice(kind="word"))
    frame: Frame = field(default_factory=lambda: Frame(longest=128))

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        if len(files) != 1 or not looks_captioned(files[0]):
            return None
        found = read_captions(files[0])
        sides = [max(16, min(64, 8 * round(side / 8))) for side in found.pixels.shape[2:]]
        reason = f"{len(found):,} pictures with captions, seen at {sides[0]} × {sides[1]} pixels: two towers (CLIP)"
        steps = max(500, min(10_000, 40 * len(found) // 64))
        text = _TEMPLATE.format(
            out=wishes.out,
            reason=reason,
            name=json.dumps(wishes.name or files[0].name.partition(".")[0], ensure_ascii=False),
            train=relative_paths(files, wishes.out),
            dev=f"dev = {relative_paths(wishes.dev, wishes.out)}\n" if wishes.dev else "",
            height=sides[0],
            width=sides[1],
            patch=4 if max(sides) <= 32 else 8,
            steps=steps,
            every=max(50, steps // 20),
            warmup=steps // 10,
        )
        return Advice(text, (reason,))

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedCaptions:
        say("reading pictures and captions")
        train, held = self.data.read(data)
        refuse_other(_digest(train), "data.train: the pictures or captions", folder / "text.sha256")
        subwords = self.subwords.of_texts(list(dict.fromkeys(train.captions)), folder / "subwords.json", data)
        shades = Shades.of(train.pixels)
        channels, height, width = train.pixels.shape[1:]
        return PreparedCaptions(
            sizes=dict(zip(self.sizes, (len(subwords), channels, height, width), strict=True)),
            train=self._batches(train, subwords, shades),
            dev=[item for item in self._batches(held, subwords, shades).in_order() if item.count > 1],
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(train):,} pictures of {height} × {width} pixels with captions, "
            f"{len(set(train.captions)):,} of them different",
            held=held,
            subwords=subwords,
            shades=shades,
        )

    def loss(self, model: ClipModel, item: CaptionBatch) -> Loss:
        """CLIP's loss and, where the model reads both, that of matching."""
        seen, read = model.pictures.encode(item.pictures), model.texts.encode(*item.texts.parts)
        cosines = model.of_pictures(*seen) @ model.of_texts(*read).T
        logits = (model.scale * cosines).masked_fill(item.same, -torch.inf)
        total, found = partner_loss(logits)
        if model.cross is None:
            return Loss(total, item.count, {"found": found})
        matching, right = _matching(model, seen[0], read, logits.detach())
        return Loss(total + matching, item.count, {"found": found, "matching": matching.detach(), "told": right})

    def metrics(self, model: ClipModel, prepared: PreparedCaptions) -> dict[str, float]:
        """The loss by batch, and how many captions and pictures are found among all that are held out."""
        found = mean_losses(model, prepared.dev, self.loss)
        shape = Shape(*prepared.held.pixels.shape[1:])
        opened = PictureTexts(model, prepared.subwords, prepared.shades, shape, frame=self.frame)
        return found | opened.found(prepared.held)

    def extras(self, design: Design, model: ClipModel, prepared: PreparedCaptions) -> dict[str, Any]:
        """How brightness is normalized, and how texts are read."""
        frame = {"longest": self.frame.longest, "separators": self.frame.separators}
        return {"shades": shade_table(prepared.shades), "frame": frame}

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[ClipModel], **how: Any) -> PictureTexts:
        """A model of pictures and captions."""
        artifact, model = one_model(artifacts, models)
        shades, sizes = artifact.extras["shades"], artifact.sizes
        return PictureTexts(
            model,
            Subwords.from_json(artifact.tokenizers["text"]),
            Shades(tuple(shades["mean"]), tuple(shades["deviation"])),
            Shape(sizes["channels"], sizes["height"], sizes["width"]),
            frame=Frame(**artifact.extras["frame"]),
        )

    @classmethod
    def evaluate(cls, opened: PictureTexts, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """How often a picture finds its caption among all captions of the files, and a caption its picture."""
        pairs = _all(files, Path(), opened.shape)
        with how.measured(len(pairs), "pairs"):
            found = opened.found(pairs)
        return [QualityScore(name.replace("_", " "), 100 * value, after=" %") for name, value in found.items()]

    def _batches(self, pairs: CaptionSet, subwords: Subwords, shades: Shades) -> ShuffledBatches:
        rows = self.frame.rows(subwords, [(caption,) for caption in pairs.captions])

        def pick(numbers: NDArray[np.int64], draw: np.random.Generator) -> CaptionBatch:
            chosen = numbers.tolist()
            pictures = shades.normalized(brightness(pairs.pixels[chosen]).float())
            return CaptionBatch(pictures, batch_of([rows[at] for at in chosen]))

        return ShuffledBatches(pick, len(pairs), self.data.batch, self.data.seed)


def _matching(model: ClipModel, seen: Tensor, read: tuple[Tensor, Tensor], logits: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of telling true pairs from the likest wrong ones, summed, and the share of pairs that are told right."""
    count = len(logits)
    wrong = logits.masked_fill(torch.eye(count, dtype=torch.bool, device=logits.device), -torch.inf)
    own = torch.arange(count, device=logits.device)
    picture = torch.cat([own, own, wrong.argmax(0)])
    text = torch.cat([own, wrong.argmax(1), own])
    features, keep = read
    told = model.matched(seen[picture], features[text], keep[text])
    true = (torch.arange(3 * count, device=logits.device) < count).to(told)
    loss = F.binary_cross_entropy_with_logits(told, true, reduction="sum") / 3
    return loss, ((told.detach() > 0) == (true > 0)).sum().to(told) / 3


def _all(files: Sequence[Path], folder: Path, shape: Shape) -> CaptionSet:
    """The pairs of all files."""
    sets = [read_captions(folder / file, shape) for file in files]
    for other, file in zip(sets, files, strict=True):
        if other.pixels.shape[1:] != sets[0].pixels.shape[1:]:
            raise RegardError(f"{file}: its pictures have another shape than those of {files[0]}")
    return CaptionSet(torch.cat([one.pixels for one in sets]), tuple(text for one in sets for text in one.captions))


def _digest(pairs: CaptionSet) -> str:
    """The hash of all pixels and captions."""
    made = hashlib.sha256(json.dumps([*pairs.pixels.shape, *pairs.captions]).encode())
    made.update(pairs.pixels.numpy().tobytes())
    return made.hexdigest()
