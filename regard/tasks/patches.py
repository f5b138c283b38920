"""Masked patches: most of a picture is hidden, and a masked autoencoder is to guess it; no labels are needed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch

from regard.data.hidden_patches import HiddenPatches, PatchBatches, PatchHiding
from regard.data.image_arrays import ImageSet
from regard.data.image_files import Shape
from regard.data.images import Augment, ImageBatches, ImageBatchSettings, Shades
from regard.decoding.patch_filler import PatchFiller, patch_errors
from regard.decoding.scorer import evaluating
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.mae import MaeModel
from regard.models.model import Design
from regard.models.pictured import PICTURE_SIZES
from regard.runs.artifact import Artifact
from regard.tasks.pictures import ImageData, held_out_images, image_digest, shade_table
from regard.tasks.task import Evaluation, Prepared, Say, Task
from regard.tasks.texts import one_model, refuse_other
from regard.training.loss import Loss


@dataclass(frozen=True, kw_only=True)
class PreparedPatches(Prepared):
    """Prepared pictures, with how their brightness is normalized."""

    shades: Shades


@dataclass(frozen=True, kw_only=True)
class Patches(Task):
    """The settings of masked patches beside model and training."""

    unit: ClassVar[str] = "pictures"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = PICTURE_SIZES[:3]
    offers: ClassVar[type] = MaeModel

    data: ImageData
    batches: ImageBatchSettings = field(default_factory=ImageBatchSettings)
    augment: Augment = field(default_factory=Augment)
    hiding: PatchHiding = field(default_factory=PatchHiding)

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedPatches:
        say("reading pictures")
        asked = Shape(self.data.channels, self.data.height, self.data.width)
        train = self.data.read(self.data.train, data, "train", asked)
        where = " and ".join(str(data / file) for file in self.data.train)
        refuse_other(image_digest(train), f"data.train: {where}", folder / "text.sha256")
        if self.data.dev is not None:
            dev = self.data.read(self.data.dev, data, "dev", Shape(*train.shape))
        else:
            train, dev = held_out_images(train, self.data.hold_out, self.batches.seed)
        shades = Shades.of(train.pixels[train.which.unique()])
        channels, height, width = train.shape
        return PreparedPatches(
            sizes={"channels": channels, "height": height, "width": width},
            train=self._batches(train, shades),
            dev=self._batches(dev, shades).all() if len(dev.which) else (),
            summary=f"{len(train.which):,} training pictures of {height} × {width} pixels",
            shades=shades,
        )

    def loss(self, model: MaeModel, item: HiddenPatches) -> Loss:
        """The mean squared error of hidden patches."""
        return Loss(patch_errors(model, item, self.hiding).sum(), item.count)

    def extras(self, design: Design, model: Any, prepared: PreparedPatches) -> dict[str, Any]:
        """How brightness is normalized, and how patches are hidden."""
        return {
            "shades": shade_table(prepared.shades),
            "hiding": {"rate": self.hiding.rate, "targets": self.hiding.targets},
        }

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[MaeModel],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> PatchFiller:
        """A filler of hidden patches."""
        artifact, model = one_model(artifacts, models)
        shades, sizes = artifact.extras["shades"], artifact.sizes
        return PatchFiller(
            model,
            Shades(tuple(shades["mean"]), tuple(shades["deviation"])),
            Shape(sizes["channels"], sizes["height"], sizes["width"]),
            PatchHiding(**artifact.extras["hiding"]),
        )

    @classmethod
    def evaluate(cls, opened: PatchFiller, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The mean squared error of hidden patches; what is hidden is always the same."""
        total = count = 0.0
        own = cls(data=ImageData(train=()), hiding=opened.hiding)
        device = next(opened.model.parameters()).device
        for file in files:
            for item in own._batches(opened.read(file), opened.shades).all():
                with evaluating([opened.model]), how.measured(item.count, "pictures"):
                    total += float(patch_errors(opened.model, item.to(device), opened.hiding).sum())
                count += item.count
        return [QualityScore("error of hidden patches", total / count, digits=4, after=f" of {int(count):,} pictures")]

    def _batches(self, images: ImageSet, shades: Shades) -> PatchBatches:
        none = torch.zeros(len(images.which), dtype=torch.long)
        made = ImageBatches(images.pixels, images.which, none, none.float(), shades, self.batches, self.augment)
        return PatchBatches(made, self.hiding)
