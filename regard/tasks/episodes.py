"""Few-shot learning (meta-learning): a model learns, over many small problems, to tell new classes from few examples.

Each episode is a problem of its own, with classes that it draws (see `data/episode_draws.py`). How the model learns
from them is `training.method`: prototypes, matching, maml or reptile, one file each in `decoding/few_shot_methods`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch

from regard.base.config import to_dict
from regard.base.errors import ConfigError, RegardError, check_at_least
from regard.data.drawn import DrawnBatches
from regard.data.episode_draws import (
    ClassedImages,
    EpisodeBatch,
    EpisodeMaker,
    EpisodeSettings,
    classes_of_labels,
    read_classes,
)
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.data.number_rows import ROW_SOURCES
from regard.decoding.few_shot import FewShot
from regard.decoding.few_shot_method import FEW_SHOT_METHODS, FewShotMethod
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.pictured import PICTURE_SIZES, PictureModel
from regard.runs.artifact import Artifact
from regard.tasks.pictures import shade_table
from regard.tasks.task import Evaluation, Prepared, Say, Task
from regard.tasks.texts import one_model, refuse_other
from regard.training.loss import Loss

_TESTED = 400
"""episodes of an evaluation"""


@dataclass(frozen=True, kw_only=True)
class EpisodeData:
    """The pictures by class, from a source without a download or from folders."""

    source: Annotated[Any, ROW_SOURCES] = None
    """handwritten digits; none: the data are in `train`"""
    train: tuple[Path, ...] = ()
    """folders with a folder of pictures for each class, folders of such folders (groups, such as alphabets), or .npz"""
    dev: tuple[Path, ...] = ()
    """other classes to validate on; by default a share of the groups or, if there is one group, of the classes"""
    hold_out: float = 0.2
    """that share"""
    height: int | None = None
    """picture files are scaled to this many rows of pixels; none: those of the first picture"""
    width: int | None = None
    """picture files are scaled to this many columns of pixels; none: those of the first picture"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", ROW_SOURCES.make(self.source, "data.source"))
        if not 0 < self.hold_out < 1:
            raise ConfigError(f"data: hold_out must be above 0 and below 1, but is {self.hold_out}")

    def read(self, folder: Path, seed: int) -> tuple[ClassedImages, ClassedImages]:
        """The classes to learn from, and those to validate on."""
        if (self.source is None) == (not self.train):
            raise ConfigError("data: set either source, for pictures without a download, or train, the folders")
        if self.source is not None:
            rows = self.source.rows()
            pixels = torch.from_numpy(rows.inputs).reshape(-1, 1, *rows.shape)
            found = classes_of_labels(pixels, [str(label) for label in rows.labels], "data.source")
            return found.parts(self.hold_out, seed)
        train = _joined([read_classes(folder / file, self.shape) for file in self.train], self.train)
        if not self.dev:
            return train.parts(self.hold_out, seed)
        return train, _joined([read_classes(folder / file, Shape(*train.shape)) for file in self.dev], self.dev)

    @property
    def shape(self) -> Shape:
        """The shape that pictures are brought to, as far as it is said."""
        return Shape(None, self.height, self.width)


@dataclass(frozen=True, kw_only=True)
class PreparedEpisodes(Prepared):
    """How brightness is normalized."""

    shades: Shades


@dataclass(frozen=True, kw_only=True)
class Episodes(Task):
    """The settings of few-shot learning beside model and training."""

    unit: ClassVar[str] = "queries"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = PICTURE_SIZES
    offers: ClassVar[type] = PictureModel

    data: EpisodeData
    episodes: EpisodeSettings = field(default_factory=EpisodeSettings)
    method: Annotated[Any, FEW_SHOT_METHODS] = field(default="prototypes", metadata={"path": "training.method"})
    vector: int = 64
    """the width of the vectors that a method compares"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", FEW_SHOT_METHODS.make(self.method, "training.method"))
        check_at_least("settings", 1, vector=self.vector)

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedEpisodes:
        say("reading pictures")
        train, dev = self.data.read(data, self.episodes.seed)
        refuse_other(_digest(train), "data.train: the pictures", folder / "text.sha256")
        shades = Shades.of(torch.cat(list(train.classes)))
        how = self.episodes
        if how.turns == 4 and train.shape[1] != train.shape[2]:
            raise ConfigError("episodes.turns: only square pictures can be turned by quarters; set height and width")
        maker = EpisodeMaker(train.turned() if how.turns == 4 else train, how, shades, "data.train")
        held = EpisodeMaker(dev, how, shades, "data.dev")
        draw = np.random.default_rng([how.seed, 3, 3, 3])
        channels, height, width = train.shape
        outputs = self.vector if self.method.compares else how.ways
        return PreparedEpisodes(
            sizes=dict(zip(PICTURE_SIZES, (channels, height, width, outputs), strict=True)),
            train=DrawnBatches(maker, 100 * how.per_step, how.per_step, how.seed),
            dev=[held(draw, 5) for _ in range(-(-how.validations // 5))],
            summary=f"{len(maker.images.classes):,} classes to learn from in {len(set(maker.images.groups))} groups, "
            f"{len(dev.classes):,} others to validate on; {how.ways} classes an episode, {how.shots} examples of each",
            shades=shades,
        )

    def loss(self, model: PictureModel, item: EpisodeBatch) -> Loss:
        """The method's loss over all queries, and how many are told right."""
        ways = int(item.labels.max()) + 1
        found = [
            self.method.loss(model, support, item.labels, query, item.wanted, ways)
            for support, query in zip(item.support, item.query, strict=True)
        ]
        totals, right = (torch.stack(part).sum() for part in zip(*found, strict=True))
        return Loss(totals, item.count, {"accuracy": right})

    def extras(self, design: Design, model: Any, prepared: PreparedEpisodes) -> dict[str, Any]:
        """How brightness is normalized, the method and the episodes."""
        name = type(self.method).__module__.rpartition(".")[2]
        return {
            "shades": shade_table(prepared.shades),
            "method": {"name": name, **to_dict(self.method)},
            "episodes": to_dict(self.episodes),
        }

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[PictureModel], **how: Any) -> FewShot:
        """A model of new classes."""
        artifact, model = one_model(artifacts, models)
        told, sizes = artifact.extras, artifact.sizes
        method: FewShotMethod = FEW_SHOT_METHODS.make(told["method"], "method")
        shades = Shades(tuple(told["shades"]["mean"]), tuple(told["shades"]["deviation"]))
        shape = Shape(sizes["channels"], sizes["height"], sizes["width"])
        return FewShot(model, shades, shape, method, EpisodeSettings(**told["episodes"]))

    @classmethod
    def evaluate(cls, opened: FewShot, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The mean accuracy over episodes of the classes of these folders, with its 95 % confidence interval."""
        images = _joined([read_classes(file, opened.shape) for file in files], files)
        maker = EpisodeMaker(images, opened.episodes, opened.shades, str(files[0]))
        task = cls(data=EpisodeData(train=tuple(files)), episodes=opened.episodes, method=opened.method)
        draw, device, found = np.random.default_rng(1), next(opened.model.parameters()).device, []
        was = opened.model.training
        opened.model.eval()
        with torch.no_grad(), how.measured(_TESTED, "episodes"):
            for _ in range(_TESTED):
                made = task.loss(opened.model, maker(draw, 1).to(device))
                found.append(100 * float(made.parts["accuracy"]) / made.count)
        opened.model.train(was)
        spread = 1.96 * float(np.std(found, ddof=1)) / len(found) ** 0.5
        chosen = opened.episodes
        after = f" % of {_TESTED} episodes, {chosen.ways} classes, {chosen.shots} examples of each"
        return [QualityScore("accuracy", float(np.mean(found)), spread=spread, after=after)]


def _joined(sets: Sequence[ClassedImages], files: Sequence[Path]) -> ClassedImages:
    """The classes of all files; pictures must have one shape."""
    for other, file in zip(sets, files, strict=True):
        if other.shape != sets[0].shape:
            raise RegardError(
                f"{file}: its pictures are {list(other.shape)}, but those of {files[0]} {list(sets[0].shape)}"
            )
    parts = ([one for own in sets for one in getattr(own, part)] for part in ("classes", "groups", "names"))
    return ClassedImages(*(tuple(part) for part in parts))


def _digest(images: ClassedImages) -> str:
    """The hash of all pixels and names."""
    made = hashlib.sha256("\n".join(images.names).encode())
    for own in images.classes:
        made.update(own.numpy().tobytes())
    return made.hexdigest()
