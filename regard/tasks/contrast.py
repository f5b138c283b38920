"""Contrast: learn features in which two views of an example are alike, and those of others are not, without labels.

The features are those before the projector. SimCLR: Chen et al., 2020, https://arxiv.org/abs/2002.05709
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from regard.base.errors import ConfigError, UsageError
from regard.data.drawn import ShuffledBatches
from regard.data.number_rows import RowSet
from regard.data.two_views import ViewBatch, Viewing
from regard.decoding.code_model import CodeModel
from regard.models.contrastive import ContrastiveModel
from regard.models.model import Design
from regard.runs.artifact import Artifact
from regard.tasks.reconstruct import PreparedRows, RowSettings
from regard.tasks.task import Prepared, Say, Task
from regard.training.contrast_loss import nt_xent
from regard.training.loss import Loss


@dataclass(frozen=True, kw_only=True)
class ContrastLoss:
    """The loss of two views."""

    temperature: float = 0.1
    """the cosine is divided by it: the smaller, the more the nearest others count"""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ConfigError(f"loss: temperature must be more than 0, but is {self.temperature}")


@dataclass(frozen=True, kw_only=True)
class Contrast(Task):
    """The settings of contrastive learning beside model and training."""

    unit: ClassVar[str] = "examples"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("numbers", "views")
    offers: ClassVar[type] = ContrastiveModel

    data: RowSettings
    views: Viewing = field(default_factory=Viewing)
    contrast_loss: ContrastLoss = field(default_factory=ContrastLoss, metadata={"path": "training.loss"})

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> Prepared:
        say("reading")
        train, dev = self.data.read(data)
        held = ShuffledBatches(self._pick(dev), len(dev), self.data.batch, self.data.seed)
        return PreparedRows(
            sizes={"numbers": train.inputs.shape[1], "views": 2},
            train=ShuffledBatches(self._pick(train), len(train), self.data.batch, self.data.seed),
            dev=[batch for batch in held.in_order() if batch.count > 1],
            summary=f"{len(train):,} examples of {' × '.join(map(str, train.shape))} numbers",
            rows=train,
            held=dev,
        )

    def _pick(self, rows: RowSet) -> Any:
        def pick(numbers: NDArray[np.int64], draw: np.random.Generator) -> ViewBatch:
            views = (self.views(rows.inputs[numbers], rows.shape, draw) for _ in range(2))
            return ViewBatch(*(torch.from_numpy(view) for view in views))

        return pick

    def loss(self, model: ContrastiveModel, item: ViewBatch) -> Loss:
        """NT-Xent; `found` is the share of views whose nearest other is the other view of the same example."""
        total, found = nt_xent(model(item.first), model(item.second), self.contrast_loss.temperature)
        return Loss(total, item.count, {"found": found})

    def extras(self, design: Design, model: Any, prepared: PreparedRows) -> dict[str, Any]:
        """The shape of an input."""
        return {"shape": list(prepared.rows.shape)}

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[Any], **how: Any) -> CodeModel:
        """A model of codes; it has no ensembles."""
        if len(models) > 1:
            raise UsageError("load: models of codes form no ensemble; give one model")
        return CodeModel(models[0], tuple(artifacts[0].extras["shape"]))
