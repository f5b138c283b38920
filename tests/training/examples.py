"""A tiny model that depends on dropout, with something to learn, for tests of training."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.data.pairs import Batch, collate
from regard.data.plan import BatchPosition
from regard.layers.output import LinearOutput
from regard.models.writer import State, Transducer
from regard.runs.folder import RunFolder
from regard.training.loss import CrossEntropy, Loss, Objective
from regard.training.optimizers.adam import Adam
from regard.training.schedules.inverse_square_root import InverseSquareRoot
from regard.training.settings import TrainingSettings
from regard.training.validation import Validate, mean_losses

VOCABULARY = 12
SIZES = {"source": VOCABULARY, "target": VOCABULARY}


class Tiny(Transducer):
    """The mean of the source joined with the last token; embedding and output are tied."""

    def __init__(self, dropout: float = 0.2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 8)
        self.middle = nn.Linear(16, 8)
        self.norm = nn.LayerNorm(8)
        self.dropout = nn.Dropout(dropout)
        self.output = LinearOutput(8, VOCABULARY)
        self.output.weight = self.embedding.weight

    def hidden(self, source: Tensor | None, source_lengths: Tensor | None, target: Tensor) -> Tensor:
        last = self.embedding(target)
        read = torch.zeros_like(last) if source is None else self.embedding(source).mean(1, keepdim=True)
        joined = self.middle(torch.cat([read.expand_as(last), self.dropout(last)], -1))
        return self.norm(self.dropout(torch.tanh(joined)))

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError

    def start(self, source: Any, source_lengths: Any, rows: int = 1) -> State:
        raise NotImplementedError

    def step(self, token: Tensor, state: State) -> tuple[Tensor, State]:
        raise NotImplementedError


def tiny(seed: int = 0, dropout: float = 0.2) -> Tiny:
    torch.manual_seed(seed)
    return Tiny(dropout)


def batch(*numbers: int) -> Batch:
    """A batch that these numbers decide; targets repeat their sources."""
    draw = np.random.default_rng(numbers)
    rows = [np.append(draw.integers(4, VOCABULARY, size=draw.integers(1, 6)), 3).astype(np.int64) for _ in range(4)]
    return collate(rows, rows)


class Made:
    """Seven batches an epoch, made as they are asked for."""

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Batch]]:
        position = position or BatchPosition()
        while True:
            yield position, batch(position.epoch, position.index)
            position = position.next(7)


def measured(cross_entropy: CrossEntropy | None = None) -> Objective:
    """The loss of pairs, given the true tokens before each, or of a window of text."""
    chosen = cross_entropy or CrossEntropy(smoothing=0.1)

    def objective(model: Any, item: Any) -> Loss:
        if isinstance(item, Batch):
            return chosen(model, model.hidden(item.source, item.source_lengths, item.target_in), item.target_out)
        return chosen(model, model.hidden(None, None, item.input), item.target)

    return objective


def validating(*items: Any) -> Validate:
    """The plain loss on these items."""
    return lambda model: mean_losses(model, items, measured(CrossEntropy()))


def validation() -> Validate:
    """Also a score that rises and falls, as BLEU on few sentences would."""
    plain = validating(batch(99, 0), batch(99, 1))
    return lambda model: {**plain(model), "wave": float(model.norm.bias.sum().sin())}


def settings(**changes: Any) -> TrainingSettings:
    """Everything that resuming has to restore is in use."""
    plain = {
        "steps": 30,
        "optimizer": Adam(learning_rate=0.02, weight_decay=0.01),
        "schedule": InverseSquareRoot(5),
        "log_every": 3,
        "validate_every": 4,
        "checkpoint_every": 3,
        "average": 3,
        "metric": "wave",
    }
    return TrainingSettings(**(plain | changes))


def run_folder(path: Path) -> RunFolder:
    path.mkdir(parents=True, exist_ok=True)
    return RunFolder(path)
