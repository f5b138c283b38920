"""Permutation language modeling: guess tokens of running text in a random order; XLNet's pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from torch import Tensor

from regard.data.permuting import PermutedText, PermutedWindows, Permuting
from regard.data.subwords.tokenizer import Subwords
from regard.data.windows import Streams, StreamSettings, Tokenized
from regard.decoding.permuted_filler import PermutedFiller
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.xlnet import XLNetModel
from regard.runs.artifact import Artifact
from regard.tasks.running_text import RunningText, encoded_text, guess_scores, guesses
from regard.tasks.task import Evaluation
from regard.tasks.texts import PreparedText, one_model, token_loss
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses


@dataclass(frozen=True, kw_only=True)
class Permuted(RunningText):
    """The settings of a permutation run beside model and training."""

    offers: ClassVar[type] = XLNetModel

    permuting: Permuting = field(default_factory=Permuting)
    """the order, and how many tokens are asked for"""
    cross_entropy: CrossEntropy = field(default_factory=CrossEntropy, metadata={"path": "training.loss"})
    """the training loss"""

    def extended(self, subwords: Subwords) -> Subwords:
        return subwords.with_mask()

    def windows(self, text: Tokenized, subwords: Subwords) -> PermutedWindows:
        return PermutedWindows(Streams(text, self.streams), self.permuting)

    def loss(self, model: XLNetModel, item: PermutedText) -> Loss:
        item = _filled(item)
        return token_loss(self.cross_entropy, model, lambda: _guessing(model, item), item.wanted)

    def metrics(self, model: XLNetModel, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity of the tokens that are asked for, without label smoothing, and how many are right."""
        return mean_losses(model, prepared.dev, _guessed)

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
        windows = Streams(encoded_text(opened.subwords, files, how), StreamSettings(rows=32, length=128))
        items = PermutedWindows(windows, Permuting()).first_epoch()
        return guess_scores(opened.model, items, _guessed, "permuted tokens", how)


def _guessed(model: XLNetModel, item: PermutedText) -> Loss:
    item = _filled(item)
    return guesses(model, _guessing(model, item), item.wanted)


def _guessing(model: XLNetModel, item: PermutedText) -> Tensor:
    memories = model.recall(item.before) if item.before.shape[1] else ()
    sees = item.rank[:, None, :] < item.rank[:, :, None]
    return model.two_streams(item.tokens, item.lengths, sees, item.asked, memories).query


def _filled(item: PermutedText) -> PermutedText:
    """Without rows of padding alone, which a short text leaves."""
    rows = (item.lengths > 0).nonzero()[:, 0]
    return item if len(rows) == len(item.lengths) else item.rows(rows)
