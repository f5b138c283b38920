"""Span corruption: write the hidden spans of running text after their sentinels; T5's pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from regard.base.errors import ConfigError
from regard.data.checkup import Checkup, check_lines
from regard.data.pairs import Batch
from regard.data.plan import BatchPosition
from regard.data.span_corruption import CorruptedWindows, Corrupting, Corruption, sentinels_in, with_sentinels
from regard.data.store import build_store
from regard.data.subwords.tokenizer import EOS, PAD, Subwords
from regard.data.windows import Streams, StreamSettings
from regard.decoding.opening import strategy_of, subwords_of
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.decoding.translator import Translator
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.writer import Transducer
from regard.runs.artifact import Artifact
from regard.tasks.task import Evaluation, Say, Task
from regard.tasks.texts import (
    DataSettings,
    PreparedText,
    SubwordChoice,
    one_vocabulary,
    refuse_other,
    text_checkup,
    token_loss,
)
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses, validate_quietly

_LENGTH = 128


@dataclass(frozen=True, kw_only=True)
class Spans(Task):
    """The settings of a run with span corruption beside model and training."""

    sizes: ClassVar[tuple[str, ...]] = ("source", "target")
    offers: ClassVar[type] = Transducer

    data: DataSettings
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    streams: StreamSettings = field(default_factory=StreamSettings)
    corruption: Corruption = field(default_factory=Corruption)
    decoding: Annotated[Any, STRATEGIES] = None
    """the decoding strategy of the model, which commands may override; none: greedy"""
    cross_entropy: CrossEntropy = field(default_factory=CrossEntropy, metadata={"path": "training.loss"})

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedText:
        corpus = self.data.training(data, sides=1)
        refuse_other(corpus.fingerprint(), f"data.train: {corpus.files[0]}", folder / "text.sha256", say)
        say("subwords")
        found = self.subwords.find(corpus, folder / "subwords.json", data, say)
        if not isinstance(found, Subwords):
            raise ConfigError("subwords.load: a model of hidden spans needs the subwords of one side")
        subwords = with_sentinels(found, self.corruption.sentinels)
        say("encoding")
        store = build_store(folder / "store", corpus, subwords, say)
        return PreparedText(
            sizes={"source": len(subwords), "target": len(subwords)},
            train=self._windows(store.sides[0].flat, subwords),
            dev=self._dev(folder, data, subwords, say),
            tokenizers=dict.fromkeys(("source", "target"), subwords.to_json()),
            summary=f"{len(store):,} training lines",
            store=store,
            vocabularies=(subwords,),
        )

    def loss(self, model: Transducer, item: Batch) -> Loss:
        return _hidden_spans(self.cross_entropy, model, item)

    def metrics(self, model: Transducer, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity of the targets, without label smoothing, and the share of tokens guessed right."""
        return mean_losses(model, prepared.dev, partial(_written, CrossEntropy()))

    def extras(self, design: Design, model: Transducer, prepared: PreparedText) -> dict[str, Any]:
        """A text is read whole, sentinels and all."""
        return {"split": "line"}

    def flops(self, design: Design, prepared: PreparedText) -> float:
        read = float(prepared.store.sides[0].lengths.sum()) * (1 - self.corruption.rate)
        return design.training_flops(read, prepared.train.epoch()[1], prepared.sizes)

    def check(self, prepared: PreparedText, data: Path, test: Sequence[Path] = ()) -> Checkup:
        held_out = self.data.held_out(data, test, sides=1)
        corpus = self.data.training(data, sides=1)
        return text_checkup(check_lines(corpus, held_out), prepared, corpus, held_out)

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Transducer],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Translator:
        """What reads texts with sentinels and writes what they stand for: the same as for translations."""
        first = one_vocabulary(artifacts)
        pair = subwords_of(first)
        chosen = strategy or strategy_of(first) or Greedy()
        return Translator(models, pair.source, pair.target, chosen, split="line")

    @classmethod
    def evaluate(cls, opened: Translator, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Perplexity and accuracy of the spans that are hidden in the test set; the same ones each time."""
        lines = [line.text for line in how.corpus(files).lines()]
        text = np.array([token for ids in opened.source.encode_batch(lines) for token in (*ids, EOS)])
        length, how_much = _LENGTH, Corruption()
        while how_much.counts(length)[1] > max(1, sentinels_in(opened.source)):
            length -= 1
        windows = Streams(text, StreamSettings(rows=32, length=length))
        hidden = CorruptedWindows(windows, Corrupting(opened.source, how_much, length))
        items = [hidden.at(BatchPosition(index=at)) for at in range(len(windows))]
        scored = partial(_written, CrossEntropy())
        found = validate_quietly(lambda model: mean_losses(model, items, scored), opened.models[0])
        return [
            QualityScore("perplexity", found["perplexity"], digits=3, after=" of hidden spans and sentinels"),
            QualityScore("accuracy", 100 * found["accuracy"], after=" % of hidden spans and sentinels"),
        ]

    def _windows(self, text: Any, subwords: Subwords) -> CorruptedWindows:
        return CorruptedWindows(Streams(text, self.streams), Corrupting(subwords, self.corruption, self.streams.length))

    def _dev(self, folder: Path, data: Path, subwords: Subwords, say: Say) -> list[Batch]:
        """The dev set with spans hidden, the same at every validation."""
        if self.data.dev is None:
            return []
        say("encoding the dev set")
        corpus = self.data.corpus(self.data.dev, data, "error")
        refuse_other(corpus.fingerprint(), f"data.dev: {corpus.files[0]}", folder / "dev.sha256", say)
        hidden = self._windows(build_store(folder / "dev-store", corpus, subwords, say).sides[0].flat, subwords)
        return [hidden.at(BatchPosition(index=at)) for at in range(len(hidden.windows))]


def _hidden_spans(cross_entropy: CrossEntropy, model: Transducer, item: Batch) -> Loss:
    given = (item.source, item.source_lengths, item.target_in)
    return token_loss(cross_entropy, model, lambda: model.hidden(*given), item.target_out)


def _written(cross_entropy: CrossEntropy, model: Transducer, item: Batch) -> Loss:
    """The loss, with the number of target tokens that are the likeliest, given the true ones before them."""
    asked = item.target_out != PAD
    hidden = model.hidden(item.source, item.source_lengths, item.target_in)
    loss = cross_entropy(model, hidden, item.target_out)
    right = (model.output(hidden[asked]).argmax(-1) == item.target_out[asked]).sum().float()
    return replace(loss, parts={**loss.parts, "accuracy": right})
