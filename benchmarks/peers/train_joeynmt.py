"""Train Joey NMT by its own loop, `TrainManager.train_and_validate`.

train_joeynmt.py BATCHES.npz    with our batches handed in
train_joeynmt.py FOLDER         with its own loader, from train.en and train.de
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from joey_model import build, plain_dropout, settings
from joeynmt.batch import Batch as JoeyBatch
from joeynmt.config import parse_global_args
from joeynmt.prediction import prepare
from joeynmt.training import TrainManager
from quality_joeynmt import config_of, training
from training import SMOOTHING, Batch, Gate, read_batches, walk


class Feed:
    """What the loop takes for its data set: our batches, which it may ask for one at a time."""

    batch_sampler = SimpleNamespace(set_seed=lambda seed: None, get_state=lambda: None)

    def __init__(self, batches: list[Batch], pad: int, eos: int) -> None:
        self.batches, self.pad, self.eos, self.seed = batches, pad, eos, 1

    def make_iter(self, **settings: Any) -> "Feed":
        """The loop's own iterator, this one."""
        return self

    def __iter__(self) -> Iterator[JoeyBatch]:
        gate = Gate()
        for batch in walk(self.batches):
            yield self._converted(batch)
            gate.passed(batch.count, float("nan"))

    def _converted(self, batch: Batch) -> JoeyBatch:
        first, rest = batch.target_in[:, :1], batch.target_out
        target = torch.cat([first, rest], 1)
        return JoeyBatch(
            src=swapped(batch.source),
            src_length=batch.source_lengths,
            src_prompt_mask=None,
            trg=swapped(target),
            trg_prompt_mask=None,
            indices=torch.arange(len(target)),
            device=torch.device("cpu"),
            pad_index=self.pad,
            eos_index=self.eos,
        )


def swapped(tokens: torch.Tensor) -> torch.Tensor:
    """Joey NMT's first two tokens are <unk> and <pad>, ours <pad> and <unk>."""
    return torch.where(tokens < 2, 1 - tokens, tokens)


class Gated:
    """Its own iterator over batches, held after each turn."""

    def __init__(self, iterator: Any) -> None:
        self.iterator, self.batch_sampler = iterator, iterator.batch_sampler

    def __iter__(self) -> Iterator[JoeyBatch]:
        gate = Gate()
        for batch in self.iterator:
            yield batch
            gate.passed(batch.ntokens, float("nan"))


def with_own_loader(folder: Path) -> None:
    """Train on texts until the process is ended."""
    args = parse_global_args(config_of(folder), mode="train")
    model, train_data, dev_data, _ = prepare(args, rank=0, mode="train")
    make = train_data.make_iter
    train_data.make_iter = lambda **settings: Gated(make(**settings))
    manager_of(args, plain_dropout(model)).train_and_validate(train_data=train_data, valid_data=dev_data)


def with_our_batches(path: str) -> None:
    """Train on the batches of a file until the process is ended."""
    batches, vocabulary = read_batches(path)
    args = parse_global_args(settings(tempfile.mkdtemp(), training()), mode="train")
    torch.manual_seed(1)
    model = build(args, vocabulary)
    model.loss_function = ("crossentropy", SMOOTHING)
    feed = Feed(batches, model.pad_index, model.eos_index)
    manager_of(args, model).train_and_validate(train_data=feed, valid_data=feed)


def manager_of(args: Any, model: Any) -> TrainManager:
    """Its trainer, which never validates."""
    train = args.train._replace(validation_freq=10**9)
    return TrainManager(
        rank=0, model=model, model_dir=args.model_dir, device=args.device, autocast=args.autocast, train_args=train
    )


if __name__ == "__main__":
    if Path(sys.argv[1]).is_dir():
        with_own_loader(Path(sys.argv[1]))
    else:
        with_our_batches(sys.argv[1])
