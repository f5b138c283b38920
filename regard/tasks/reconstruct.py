"""Reconstruction: learn a code by which the input can be made again; no labels are needed.

Autoencoders, VAEs, Boltzmann machines and scikit-learn's decompositions learn from rows of numbers, such as the pixels
of pictures: from files, or from a source without a download.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from regard.base.errors import ConfigError, RegardError, UsageError, check_at_least
from regard.data.drawn import ShuffledBatches
from regard.data.number_rows import ROW_SOURCES, Binarizing, RowBatch, RowSet, binarized, read_rows
from regard.data.plan import BatchPosition
from regard.decoding.code_model import CodeModel
from regard.metrics.quality import QualityScore
from regard.models.decomposition import DecompositionModel
from regard.models.model import Design
from regard.models.reconstructor import Reconstructor
from regard.runs.artifact import Artifact, load_artifact, save_artifact
from regard.runs.folder import RunFolder
from regard.tasks.task import Evaluation, Prepared, Say, Task
from regard.training.loss import Loss

_DRAWN = 10
"""the examples of a picture of codes"""
_HELD = (3, 3, 3)
"""the seed of what is drawn once for validation and tests"""


@dataclass(frozen=True, kw_only=True)
class RowSettings:
    """The rows, from a source without a download or from files."""

    source: Annotated[Any, ROW_SOURCES] = None
    """sprites, or handwritten digits; none: the data are in `train`"""
    train: tuple[Path, ...] = ()
    """arrays: .npz, .npy or idx files"""
    dev: tuple[Path, ...] = ()
    """arrays to validate on; by default a tenth of the training data"""
    binarize: Binarizing = "none"
    """numbers from 0 to 1 become 0 or 1: drawn with that probability anew in every epoch (dynamic), drawn once, or cut
    at 0.5 (threshold); what is validated and tested on is drawn once"""
    ramp: int = 0
    """the capacity of a VAE is reached after so many examples; 0: at once"""
    batch: int = 128
    """the examples of a batch"""
    seed: int = 1
    """decides the order of the examples, and what is drawn"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", ROW_SOURCES.make(self.source, "data.source"))
        check_at_least("data", 1, batch=self.batch)
        check_at_least("data", 0, seed=self.seed, ramp=self.ramp)

    def read(self, data: Path) -> tuple[RowSet, RowSet]:
        """The examples to learn from, and those to validate on."""
        if (self.source is None) == (not self.train):
            raise ConfigError("data: set either source, for examples without a download, or train, the files")
        if self.source is not None:
            return self.source.rows().parts(seed=self.seed)
        train = _joined([read_rows(data / file) for file in self.train], self.train)
        if not self.dev:
            return train.parts(seed=self.seed)
        dev = _joined([read_rows(data / file, "test") for file in self.dev], self.dev)
        if dev.shape != train.shape:
            raise RegardError(
                f"{self.dev[0]}: its examples are {list(dev.shape)}, but those of training {list(train.shape)}"
            )
        return train, dev


@dataclass(frozen=True)
class RampedRows(ShuffledBatches):
    """Rows whose batches know how much of the ramp lies behind them."""

    ramp: int = 0

    def at(self, position: BatchPosition) -> RowBatch:
        found: RowBatch = super().at(position)
        done = (position.epoch * self.epoch()[0] + position.index) * self.batch
        return RowBatch(found.inputs, min(1.0, done / self.ramp) if self.ramp else 1.0)


@dataclass(frozen=True, kw_only=True)
class PreparedRows(Prepared):
    """Rows to learn from and to validate on."""

    rows: RowSet
    held: RowSet


@dataclass(frozen=True, kw_only=True)
class Reconstruct(Task):
    """The settings of reconstruction beside model and training."""

    unit: ClassVar[str] = "examples"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "reconstruction", "divergence", "penalty"})
    sizes: ClassVar[tuple[str, ...]] = ("numbers",)
    offers: ClassVar[type] = Reconstructor

    data: RowSettings

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedRows:
        say("reading")
        train, dev = self.data.read(data)
        own = self.data
        if own.binarize == "once":
            train = replace(train, inputs=binarized(train.inputs, "once", np.random.default_rng([own.seed, 4])))
        anew: Binarizing = "none" if own.binarize == "once" else own.binarize

        def pick(numbers: NDArray[np.int64], draw: np.random.Generator) -> RowBatch:
            return RowBatch(torch.from_numpy(binarized(train.inputs[numbers], anew, draw)))

        fixed = binarized(dev.inputs, own.binarize, np.random.default_rng([own.seed, *_HELD]))
        return PreparedRows(
            sizes={"numbers": train.inputs.shape[1]},
            train=RampedRows(pick, len(train), own.batch, own.seed, own.ramp),
            dev=[RowBatch(torch.from_numpy(fixed[first : first + 500])) for first in range(0, len(fixed), 500)],
            summary=f"{len(train):,} examples of {' × '.join(map(str, train.shape))} numbers",
            rows=train,
            held=replace(dev, inputs=fixed),
        )

    def loss(self, model: Reconstructor, item: RowBatch) -> Loss:
        """The model's own loss, and its parts."""
        found = {name: part.sum() for name, part in model.losses(item.inputs, item.progress).items()}
        return Loss(found.pop("loss"), item.count, {name: part.detach() for name, part in found.items()})

    def extras(self, design: Design, model: Any, prepared: PreparedRows) -> dict[str, Any]:
        """The shape of an input, and how its numbers become 0 or 1."""
        return {"shape": list(prepared.rows.shape), "binarize": self.data.binarize}

    def finish(self, folder: RunFolder, prepared: PreparedRows, device: str, say: Say) -> None:
        """Compute weights that need no steps, and draw what was made again, made up and moved through."""
        artifact = load_artifact(folder.model)
        model = artifact.model()
        if isinstance(model, DecompositionModel):
            say("computing the code from all examples")
            model.fit(torch.from_numpy(prepared.rows.inputs))
            save_artifact(folder.model, artifact.with_weights(model.state_dict()))
            opened = CodeModel(model, prepared.rows.shape)
            say(f"reconstruction {opened.losses(prepared.held.inputs)['reconstruction']:.4g} on held-out examples")
        if len(prepared.rows.shape) == 2:
            _draw(CodeModel(model, prepared.rows.shape), prepared.held.inputs[:_DRAWN], folder.path / "codes.png", say)

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[Any], **how: Any) -> CodeModel:
        """A model of codes; it has no ensembles."""
        if len(models) > 1:
            raise UsageError("load: models of codes form no ensemble; give one model")
        extras = artifacts[0].extras
        return CodeModel(models[0], tuple(extras["shape"]), extras.get("binarize", "none"))

    @classmethod
    def evaluate(cls, opened: CodeModel, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The mean loss and its parts, in nats where the input has a likelihood, and the bound where it is asked for.

        A model of numbers that are 0 or 1 is tested on such: grays are drawn once, always the same way.
        """
        rows = _joined([read_rows(file, "test") for file in files], files)
        inputs = binarized(rows.inputs, opened.binarize, np.random.default_rng([1, *_HELD]))
        with how.measured(len(inputs), "examples"):
            losses = opened.losses(inputs)
        scores = [QualityScore(name, value, digits=4) for name, value in losses.items()]
        if how.bound is None:
            return scores
        tight = opened.bound(inputs, how.bound, how.started(len(inputs)))
        return [*scores, QualityScore("bound", tight, digits=4, after=f" of {how.bound:,} samples")]


def _joined(sets: Sequence[RowSet], files: Sequence[Path]) -> RowSet:
    """The rows of several files."""
    for other, file in zip(sets, files, strict=True):
        if other.shape != sets[0].shape:
            raise RegardError(
                f"{file}: its examples are {list(other.shape)}, but those of {files[0]} {list(sets[0].shape)}"
            )
    if len(sets) == 1:
        return sets[0]
    return RowSet(np.concatenate([one.inputs for one in sets]), sets[0].shape)


def _draw(opened: CodeModel, inputs: NDArray[np.float32], path: Path, say: Say) -> None:
    """Write the picture of codes, if matplotlib is there."""
    try:
        from regard.inspection.pictures.code_picture import code_picture
        from regard.inspection.pictures.draw import save_figure
    except ImportError:
        return
    save_figure(code_picture(opened, inputs), path)
    say(f"wrote {path}")
