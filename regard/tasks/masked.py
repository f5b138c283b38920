"""Masked language modeling: guess hidden tokens of running text, from both sides; BERT's pre-training."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from regard.base.errors import ConfigError
from regard.data.checkup import Checkup, check_lines
from regard.data.corpus import Corpus
from regard.data.masking import Hiding, MaskedText, MaskedWindows, Masking
from regard.data.plan import BatchPosition
from regard.data.store import build_store
from regard.data.subwords.tokenizer import EOS, PAD, Subwords
from regard.data.windows import Streams, StreamSettings
from regard.decoding.filler import Filler
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.headed import Headed
from regard.models.model import Design
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
class Masked(Task):
    """The settings of a masked-token run beside model and training."""

    sizes: ClassVar[tuple[str, ...]] = ("text",)
    offers: ClassVar[type] = Headed

    data: DataSettings
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    streams: StreamSettings = field(default_factory=StreamSettings)
    masking: Masking = field(default_factory=Masking)
    cross_entropy: CrossEntropy = field(default_factory=CrossEntropy, metadata={"path": "training.loss"})

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedText:
        if self.streams.context:
            raise ConfigError("streams.context: a model of masked tokens recalls nothing; leave it out")
        corpus = self.data.training(data, sides=1)
        refuse_other(corpus.fingerprint(), f"data.train: {corpus.files[0]}", folder / "text.sha256")
        say("subwords")
        found = self.subwords.find(corpus, folder / "subwords.json", data)
        if not isinstance(found, Subwords):
            raise ConfigError("subwords.load: a model of masked tokens needs the subwords of one side")
        subwords = found.with_mask()
        say("encoding")
        store = build_store(folder / "store", corpus, subwords)
        return PreparedText(
            sizes={"text": len(subwords)},
            train=MaskedWindows(Streams(store.sides[0].flat, self.streams), Hiding(subwords, self.masking)),
            dev=self._dev(folder, data, subwords, say),
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(store):,} training lines",
            store=store,
            vocabularies=(subwords,),
        )

    def loss(self, model: Headed, item: MaskedText) -> Loss:
        return _hidden_tokens(self.cross_entropy, model, item)

    def metrics(self, model: Headed, prepared: PreparedText) -> dict[str, float]:
        """Loss and perplexity of the hidden tokens, without label smoothing, and how many are guessed right."""
        return mean_losses(model, prepared.dev, partial(_guessed, CrossEntropy()))

    def longest(self) -> int | None:
        return self.streams.length

    def flops(self, design: Design, prepared: PreparedText) -> float:
        tokens = float(len(prepared.store.sides[0].flat))
        return design.training_flops(0, tokens, prepared.sizes)

    def check(self, prepared: PreparedText, data: Path, test: Sequence[Path] = ()) -> Checkup:
        held_out = self.data.held_out(data, test, sides=1)
        corpus = self.data.training(data, sides=1)
        return text_checkup(check_lines(corpus, held_out), prepared, corpus, held_out)

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
        lines = [line.text for line in how.corpus(files).lines()]
        text = np.array([token for ids in opened.subwords.encode_batch(lines) for token in (*ids, EOS)])
        windows = Streams(text, StreamSettings(rows=32, length=min(longest, 128)))
        hidden = MaskedWindows(windows, Hiding(opened.subwords, Masking(masked=1.0, random=0.0)))
        items = [hidden.at(BatchPosition(index=at)) for at in range(len(windows))]
        scored = partial(_guessed, CrossEntropy())
        found = validate_quietly(lambda model: mean_losses(model, items, scored), opened.model)
        return [
            QualityScore("perplexity", found["perplexity"], digits=3, after=" of masked tokens"),
            QualityScore("accuracy", 100 * found["accuracy"], after=" % of masked tokens"),
        ]

    def _dev(self, folder: Path, data: Path, subwords: Subwords, say: Say) -> list[MaskedText]:
        """The dev set with tokens hidden, the same at every validation."""
        if self.data.dev is None:
            return []
        say("encoding the dev set")
        corpus: Corpus = self.data.corpus(self.data.dev, data, "error")
        windows = Streams(build_store(folder / "dev-store", corpus, subwords).sides[0].flat, self.streams)
        hidden = MaskedWindows(windows, Hiding(subwords, self.masking))
        return [hidden.at(BatchPosition(index=at)) for at in range(len(windows))]


def _hidden_tokens(cross_entropy: CrossEntropy, model: Headed, item: MaskedText) -> Loss:
    return token_loss(cross_entropy, model, lambda: model(item.tokens, item.lengths), item.wanted)


def _guessed(cross_entropy: CrossEntropy, model: Headed, item: MaskedText) -> Loss:
    """The loss, with the number of tokens that are guessed right."""
    asked = item.wanted != PAD
    hidden = model(item.tokens, item.lengths)
    loss = cross_entropy(model, hidden, item.wanted)
    right = (model.output(hidden[asked]).argmax(-1) == item.wanted[asked]).sum().float()
    return replace(loss, parts={**loss.parts, "accuracy": right})
