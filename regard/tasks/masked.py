"""Masked language modeling: guess hidden tokens of running text, from both sides; BERT's pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from regard.base.errors import ConfigError
from regard.data.masking import Hiding, MaskedText, MaskedWindows, Masking
from regard.data.subwords.tokenizer import Subwords
from regard.data.windows import Streams, StreamSettings, Tokenized
from regard.decoding.filler import Filler
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.headed import Headed
from regard.runs.artifact import Artifact
from regard.tasks.running_text import RunningText, encoded_text, guess_scores, guesses
from regard.tasks.task import Evaluation, Say
from regard.tasks.texts import PreparedText, one_model, token_loss
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses


@dataclass(frozen=True, kw_only=True)
class Masked(RunningText):
    """The settings of a masked-token run beside model and training."""

    offers: ClassVar[type] = Headed

    masking: Masking = field(default_factory=Masking)
    """how many tokens are asked for, and how they are hidden"""
    cross_entropy: CrossEntropy = field(default_factory=CrossEntropy, metadata={"path": "training.loss"})
    """the training loss"""

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedText:
        if self.streams.context:
            raise ConfigError("streams.context: a model of masked tokens recalls nothing; leave it out")
        return super().prepare(folder, data, say)

    def extended(self, subwords: Subwords) -> Subwords:
        return subwords.with_mask()

    def windows(self, text: Tokenized, subwords: Subwords) -> MaskedWindows:
        return MaskedWindows(Streams(text, self.streams), Hiding(subwords, self.masking))

    def loss(self, model: Headed, item: MaskedText) -> Loss:
        return token_loss(self.cross_entropy, model, lambda: model(item.tokens, item.lengths), item.wanted)

    def metrics(self, model: Headed, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity of the hidden tokens, without label smoothing, and how many are guessed right."""
        return mean_losses(model, prepared.dev, _guessed)

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Headed],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Filler:
        """Fills hidden places."""
        artifact, model = one_model(artifacts, models)
        return Filler(model, Subwords.from_json(artifact.tokenizers["text"]))

    @classmethod
    def evaluate(cls, opened: Filler, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Perplexity and accuracy on 15 % of the tokens, each replaced by the mask token; the same ones each time."""
        longest = (opened.frame.longest or 129) - 1
        windows = Streams(encoded_text(opened.subwords, files, how), StreamSettings(rows=32, length=min(longest, 128)))
        hidden = MaskedWindows(windows, Hiding(opened.subwords, Masking(masked=1.0, random=0.0)))
        return guess_scores(opened.model, hidden.first_epoch(), _guessed, "masked tokens", how)


def _guessed(model: Headed, item: MaskedText) -> Loss:
    return guesses(model, model(item.tokens, item.lengths), item.wanted)
