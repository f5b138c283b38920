"""Permutation language modeling: guess tokens of running text in a random order; XLNet's pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from regard.base.errors import ConfigError
from regard.data.checkup import Checkup, check_lines
from regard.data.permuting import PermutedText, PermutedWindows, Permuting
from regard.data.plan import BatchPosition
from regard.data.store import build_store
from regard.data.subwords.tokenizer import EOS, PAD, Subwords
from regard.data.windows import Streams, StreamSettings
from regard.decoding.permuted_filler import PermutedFiller
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.xlnet import XLNetModel
from regard.runs.artifact import Artifact
from regard.tasks.task import Evaluation, Say, Task
from regard.tasks.texts import (
    DataSettings,
    PreparedText,
    SubwordChoice,
    one_model,
    refuse_other,
    text_checkup,
    token_loss,
)
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses, validate_quietly


@dataclass(frozen=True, kw_only=True)
class Permuted(Task):
    """The settings of a permutation run beside model and training."""

    sizes: ClassVar[tuple[str, ...]] = ("text",)
    offers: ClassVar[type] = XLNetModel

    data: DataSettings
    """the files to learn from"""
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    """the tokenizer"""
    streams: StreamSettings = field(default_factory=StreamSettings)
    """the batch size"""
    permuting: Permuting = field(default_factory=Permuting)
    """the order, and how many tokens are asked for"""
    cross_entropy: CrossEntropy = field(default_factory=CrossEntropy, metadata={"path": "training.loss"})
    """the training loss"""

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedText:
        corpus = self.data.training(data, sides=1)
        refuse_other(corpus.fingerprint(), f"data.train: {corpus.files[0]}", folder / "text.sha256", say)
        say("subwords")
        found = self.subwords.find(corpus, folder / "subwords.json", data, say)
        if not isinstance(found, Subwords):
            raise ConfigError("subwords.load: a model of permuted tokens needs the subwords of one side")
        subwords = found.with_mask()
        say("encoding")
        store = build_store(folder / "store", corpus, subwords, say)
        return PreparedText(
            sizes={"text": len(subwords)},
            train=PermutedWindows(Streams(store.sides[0].flat, self.streams), self.permuting),
            dev=self._dev(folder, data, subwords, say),
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(store):,} training lines",
            store=store,
            vocabularies=(subwords,),
        )

    def loss(self, model: XLNetModel, item: PermutedText) -> Loss:
        return _asked_tokens(self.cross_entropy, model, item)

    def metrics(self, model: XLNetModel, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity of the tokens that are asked for, without label smoothing, and how many are right."""
        return mean_losses(model, prepared.dev, partial(_judged_tokens, CrossEntropy()))

    def longest(self) -> int | None:
        return self.streams.length + self.streams.context

    def flops(self, design: Design, prepared: PreparedText) -> float:
        return design.training_flops(0, float(prepared.store.sides[0].lengths.sum()), prepared.sizes)

    def check(self, prepared: PreparedText, data: Path, test: Sequence[Path] = ()) -> Checkup:
        held_out = self.data.held_out(data, test, sides=1)
        corpus = self.data.training(data, sides=1)
        return text_checkup(check_lines(corpus, held_out), prepared, corpus, held_out)

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[XLNetModel],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> PermutedFiller:
        """Fills hidden places, as a model of masked tokens does."""
        artifact, model = one_model(artifacts, models)
        return PermutedFiller(model, Subwords.from_json(artifact.tokenizers["text"]).with_mask())

    @classmethod
    def evaluate(cls, opened: PermutedFiller, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Perplexity and accuracy on one in six tokens, each given those before it in an order drawn once for all."""
        lines = [line.text for line in how.corpus(files).lines()]
        text = np.array([token for ids in opened.subwords.encode_batch(lines) for token in (*ids, EOS)])
        items = _items(Streams(text, StreamSettings(rows=32, length=128)), Permuting())
        scored = partial(_judged_tokens, CrossEntropy())
        found = validate_quietly(lambda model: mean_losses(model, items, scored), opened.model)
        return [
            QualityScore("perplexity", found["perplexity"], digits=3, after=" of permuted tokens"),
            QualityScore("accuracy", 100 * found["accuracy"], after=" % of permuted tokens"),
        ]

    def _dev(self, folder: Path, data: Path, subwords: Subwords, say: Say) -> list[PermutedText]:
        """The dev set in orders that are the same at every validation."""
        if self.data.dev is None:
            return []
        say("encoding the dev set")
        corpus = self.data.corpus(self.data.dev, data, "error")
        store = build_store(folder / "dev-store", corpus, subwords, say)
        return _items(Streams(store.sides[0].flat, self.streams), self.permuting)


def _items(windows: Streams, settings: Permuting) -> list[PermutedText]:
    permuted = PermutedWindows(windows, settings)
    return [permuted.at(BatchPosition(index=at)) for at in range(len(windows))]


def _asked_tokens(cross_entropy: CrossEntropy, model: XLNetModel, item: PermutedText) -> Loss:
    item = _filled(item)
    return token_loss(cross_entropy, model, lambda: _guessing(model, item), item.wanted)


def _judged_tokens(cross_entropy: CrossEntropy, model: XLNetModel, item: PermutedText) -> Loss:
    """The loss, with the number of tokens that are guessed right."""
    item = _filled(item)
    asked, hidden = item.wanted != PAD, _guessing(model, item)
    loss = cross_entropy(model, hidden, item.wanted)
    right = (model.output(hidden[asked]).argmax(-1) == item.wanted[asked]).sum().float()
    return replace(loss, parts={**loss.parts, "accuracy": right})


def _guessing(model: XLNetModel, item: PermutedText) -> Tensor:
    memories = model.recall(item.before) if item.before.shape[1] else ()
    sees = item.rank[:, None, :] < item.rank[:, :, None]
    return model.two_streams(item.tokens, item.lengths, sees, item.asked, memories).query


def _filled(item: PermutedText) -> PermutedText:
    """Without rows of padding alone, which a short text leaves."""
    rows = (item.lengths > 0).nonzero()[:, 0]
    return item if len(rows) == len(item.lengths) else item.rows(rows)
