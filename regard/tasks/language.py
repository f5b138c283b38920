"""Language modeling: predict the next token of running text; the model scores and continues texts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

from regard.base.errors import ConfigError
from regard.data.checkup import Checkup, check_lines
from regard.data.plan import BatchPosition
from regard.data.store import build_store
from regard.data.subwords.tokenizer import PAD, Subwords
from regard.data.windows import Streams, StreamSettings, TextWindow
from regard.decoding.chat import chat_of, stops_of
from regard.decoding.generator import Generator
from regard.decoding.opening import strategy_of, vocabulary_of
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.writer import Recalling, Writer
from regard.runs.artifact import Artifact
from regard.tasks.advice import advise_text
from regard.tasks.task import Advice, Evaluation, Say, Task, Wishes
from regard.tasks.texts import (
    DataSettings,
    PreparedText,
    SubwordChoice,
    one_vocabulary,
    refuse_other,
    sides_of,
    text_checkup,
    token_loss,
)
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses


@dataclass(frozen=True, kw_only=True)
class Language(Task):
    """The settings of a language-model run beside model and training."""

    sizes: ClassVar[tuple[str, ...]] = ("text",)
    offers: ClassVar[type] = Writer

    data: DataSettings
    """the files to learn from"""
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    """the tokenizer"""
    streams: StreamSettings = field(default_factory=StreamSettings)
    """the batch size"""
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

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedText:
        corpus = self.data.training(data, sides=1)
        refuse_other(corpus.fingerprint(), f"data.train: {corpus.files[0]}", folder / "text.sha256", say)
        say("subwords")
        subwords = self.subwords.find(corpus, folder / "subwords.json", data, say)
        if not isinstance(subwords, Subwords):
            raise ConfigError("subwords.load: a language model needs the subwords of one side")
        say("encoding")
        store = build_store(folder / "store", corpus, subwords, say)
        return PreparedText(
            sizes={"text": len(subwords)},
            train=Streams(store.sides[0].flat, self.streams),
            dev=self._dev(folder, data, subwords, say),
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(store):,} training lines",
            store=store,
            vocabularies=(subwords,),
        )

    def loss(self, model: Writer, item: TextWindow) -> Loss:
        return _next_tokens(self.cross_entropy, model, item)

    def metrics(self, model: Writer, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity without label smoothing."""
        return mean_losses(model, prepared.dev, partial(_next_tokens, CrossEntropy(smoothing=0.0)))

    def longest(self) -> int | None:
        return self.streams.length + self.streams.context

    def flops(self, design: Design, prepared: PreparedText) -> float:
        return design.training_flops(0, prepared.train.epoch()[1], prepared.sizes)

    def check(self, prepared: PreparedText, data: Path, test: Sequence[Path] = ()) -> Checkup:
        held_out = self.data.held_out(data, test, sides=1)
        corpus = self.data.training(data, sides=1)
        return text_checkup(check_lines(corpus, held_out), prepared, corpus, held_out)

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
        values = opened.score(lines)
        characters = sum(len(line) + 1 for line in lines)
        words = sum(len(line.split()) + 1 for line in lines)
        nats = -sum(values)
        return [
            QualityScore(
                "perplexity", math.exp(nats / len(values)), digits=3, after=f" by subword ({len(values):,} of them)"
            ),
            QualityScore(
                "perplexity",
                math.exp(nats / words),
                digits=3,
                after=f" by word ({words:,} of them, ends of lines counted)",
            ),
            QualityScore("bits per character", nats / math.log(2) / characters, digits=4),
        ]

    def _dev(self, folder: Path, data: Path, subwords: Subwords, say: Say) -> list[TextWindow]:
        if self.data.dev is None:
            return []
        say("encoding the dev set")
        corpus = self.data.corpus(self.data.dev, data, "error")
        refuse_other(corpus.fingerprint(), f"data.dev: {corpus.files[0]}", folder / "dev.sha256", say)
        store = build_store(folder / "dev-store", corpus, subwords, say)
        streams = Streams(store.sides[0].flat, self.streams)
        return [streams.at(BatchPosition(index=at)) for at in range(len(streams))]


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
