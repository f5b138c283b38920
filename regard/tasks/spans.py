"""Span corruption: write the hidden spans of running text after their sentinels; T5's pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from regard.data.pairs import Batch
from regard.data.span_corruption import CorruptedWindows, Corrupting, Corruption, sentinels_in, with_sentinels
from regard.data.subwords.tokenizer import Subwords
from regard.data.windows import Streams, StreamSettings, Tokenized
from regard.decoding.opening import strategy_of, subwords_of
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.decoding.translator import Translator
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.writer import Transducer
from regard.runs.artifact import Artifact
from regard.tasks.running_text import RunningText, encoded_text, guess_scores, guesses
from regard.tasks.task import Evaluation
from regard.tasks.texts import PreparedText, one_vocabulary, token_loss
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses

_LENGTH = 128


@dataclass(frozen=True, kw_only=True)
class Spans(RunningText):
    """The settings of a run with span corruption beside model and training."""

    sizes: ClassVar[tuple[str, ...]] = ("source", "target")
    offers: ClassVar[type] = Transducer

    corruption: Corruption = field(default_factory=Corruption)
    """how much of a text is hidden, and in how long spans"""
    decoding: Annotated[Any, STRATEGIES] = None
    """the decoding strategy of the model, which commands may override; none: greedy"""
    cross_entropy: CrossEntropy = field(default_factory=CrossEntropy, metadata={"path": "training.loss"})
    """the training loss"""

    def extended(self, subwords: Subwords) -> Subwords:
        return with_sentinels(subwords, self.corruption.sentinels)

    def windows(self, text: Tokenized, subwords: Subwords) -> CorruptedWindows:
        return CorruptedWindows(Streams(text, self.streams), Corrupting(subwords, self.corruption, self.streams.length))

    def loss(self, model: Transducer, item: Batch) -> Loss:
        given = (item.source, item.source_lengths, item.target_in)
        return token_loss(self.cross_entropy, model, lambda: model.hidden(*given), item.target_out)

    def metrics(self, model: Transducer, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity of the targets, without label smoothing, and the share of tokens guessed right."""
        return mean_losses(model, prepared.dev, _written)

    def extras(self, design: Design, model: Transducer, prepared: PreparedText) -> dict[str, Any]:
        """A text is read whole, sentinels and all."""
        return {"split": "line"}

    def longest(self) -> int | None:
        return None

    def flops(self, design: Design, prepared: PreparedText) -> float:
        read = float(prepared.store.sides[0].lengths.sum()) * (1 - self.corruption.rate)
        return design.training_flops(read, prepared.train.epoch()[1], prepared.sizes)

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
        length, how_much = _LENGTH, Corruption()
        while how_much.counts(length)[1] > max(1, sentinels_in(opened.source)):
            length -= 1
        windows = Streams(encoded_text(opened.source, files, how), StreamSettings(rows=32, length=length))
        items = CorruptedWindows(windows, Corrupting(opened.source, how_much, length)).first_epoch()
        return guess_scores(opened.models[0], items, _written, "hidden spans and sentinels", how)


def _written(model: Transducer, item: Batch) -> Loss:
    """The loss, with the number of target tokens that are the likeliest, given the true ones before them."""
    return guesses(model, model.hidden(item.source, item.source_lengths, item.target_in), item.target_out)
