"""Language modeling: predict the next token of running text; the model scores and continues texts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from regard.base.errors import ConfigError
from regard.data.subwords.tokenizer import PAD, Subwords
from regard.data.windows import Streams, TextWindow, Tokenized
from regard.decoding.chat import chat_of, stops_of
from regard.decoding.generator import Generator
from regard.decoding.opening import strategy_of, vocabulary_of
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.metrics.quality import QualityScore
from regard.models.writer import Recalling, Writer
from regard.runs.artifact import Artifact
from regard.tasks.advice import advise_text
from regard.tasks.running_text import RunningText
from regard.tasks.task import Advice, Evaluation, Wishes
from regard.tasks.texts import PreparedText, one_vocabulary, sides_of, token_loss
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses


@dataclass(frozen=True, kw_only=True)
class Language(RunningText):
    """The settings of a language-model run beside model and training."""

    offers: ClassVar[type] = Writer

    decoding: Annotated[Any, STRATEGIES] = None
    """the decoding strategy of the model, which commands may override; none: sampling up to 100 tokens"""
    cross_entropy: CrossEntropy = field(
        default_factory=lambda: CrossEntropy(smoothing=0.1), metadata={"path": "training.loss"}
    )
    """the training loss"""

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        return sides_of(data) == 1

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        return advise_text(files, wishes, sides=1)

    def windows(self, text: Tokenized, subwords: Subwords) -> Streams:
        return Streams(text, self.streams)

    def loss(self, model: Writer, item: TextWindow) -> Loss:
        return _next_tokens(self.cross_entropy, model, item)

    def metrics(self, model: Writer, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity without label smoothing."""
        return mean_losses(model, prepared.dev, partial(_next_tokens, CrossEntropy(smoothing=0.0)))

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Writer],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Generator:
        """A generator; a shortlist is not used, since there is no source to choose likely words by."""
        first = one_vocabulary(artifacts)
        subwords = vocabulary_of(first, "text")
        chosen = strategy or strategy_of(first)
        return Generator(models, subwords, chosen, stops=stops_of(first), chat=chat_of(first))

    @classmethod
    def evaluate(cls, opened: Generator, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Perplexity by subword and by word, and bits per character."""
        if how.memory is not None:
            opened.remember_more(how.memory)
        lines = [line.text for line in how.corpus(files).lines()]
        with how.measured(len(lines), "lines"):
            values = opened.score(lines)
        characters = sum(len(line) + 1 for line in lines)
        words = sum(len(line.split()) + 1 for line in lines)
        nats = -sum(values)
        return [
            QualityScore(
                "perplexity",
                math.exp(nats / len(values)),
                digits=3,
                after=f" by subword ({len(values):,} of them)",
                by_token=True,
            ),
            QualityScore(
                "perplexity",
                math.exp(nats / words),
                digits=3,
                after=f" by word ({words:,} of them, ends of lines counted)",
            ),
            QualityScore("bits per character", nats / math.log(2) / characters, digits=4),
        ]


def _next_tokens(cross_entropy: CrossEntropy, model: Writer, item: TextWindow) -> Loss:
    """The loss of each token, given the true tokens before it; a short text leaves whole rows of a window empty."""
    filled = item.target[:, 0] != PAD
    recalled: dict[str, Any] = {} if item.before is None else {"before": item.before[filled]}
    if recalled and not isinstance(model, Recalling):
        raise ConfigError(
            f"streams.context: a {type(model).__name__} has no memory of earlier segments; "
            "use model.name = 'transformer_xl', or context = 0"
        )
    hidden = partial(model.hidden, None, None, item.input[filled], **recalled)
    return token_loss(cross_entropy, model, hidden, item.target[filled])
