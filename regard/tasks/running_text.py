"""What tasks on running text share: one text, cut into windows, of which some tokens are to be guessed."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import ConfigError
from regard.base.wording import counted
from regard.data.checkup import Checkup, check_lines
from regard.data.store import build_store
from regard.data.subwords.tokenizer import EOS, PAD, Subwords
from regard.data.windows import StreamSettings, Tokenized, Windows
from regard.metrics.quality import QualityScore
from regard.models.model import Design, Model
from regard.tasks.task import Evaluation, Say, Task
from regard.tasks.texts import DataSettings, PreparedText, SubwordChoice, refuse_other, text_checkup
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import mean_losses, validate_quietly


@dataclass(frozen=True, kw_only=True)
class RunningText(Task):
    """The settings of a run on one text beside model and training."""

    sizes: ClassVar[tuple[str, ...]] = ("text",)

    data: DataSettings
    """the files to learn from"""
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    """the tokenizer"""
    streams: StreamSettings = field(default_factory=StreamSettings)
    """the batch size"""

    @abstractmethod
    def windows(self, text: Tokenized, subwords: Subwords) -> Windows[Any]:
        """The batches of an encoded text; those of the dev set are the same at every validation."""

    def extended(self, subwords: Subwords) -> Subwords:
        """The tokenizer with the tokens that the task adds, such as that of a mask."""
        return subwords

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedText:
        corpus = self.data.training(data, sides=1)
        refuse_other(corpus.fingerprint(), f"data.train: {corpus.files[0]}", folder / "text.sha256", say)
        say("subwords")
        found = self.subwords.find(corpus, folder / "subwords.json", data, say)
        if not isinstance(found, Subwords):
            raise ConfigError(f"subwords.load: the task {self.task_name()} needs the subwords of one side")
        subwords = self.extended(found)
        say("encoding")
        store = build_store(folder / "store", corpus, subwords, say)
        return PreparedText(
            sizes=dict.fromkeys(self.sizes, len(subwords)),
            train=self.windows(store.sides[0].flat, subwords),
            dev=self._dev(folder, data, subwords, say),
            tokenizers=dict.fromkeys(self.sizes, subwords.to_json()),
            summary=counted(len(store), "training line"),
            store=store,
            vocabularies=(subwords,),
        )

    def longest(self) -> int | None:
        return self.streams.length + self.streams.context

    def flops(self, design: Design, prepared: PreparedText) -> float:
        return design.training_flops(0, len(prepared.store.sides[0].flat), prepared.sizes)

    def check(self, prepared: PreparedText, data: Path, test: Sequence[Path] = ()) -> Checkup:
        held_out = self.data.held_out(data, test, sides=1)
        corpus = self.data.training(data, sides=1)
        return text_checkup(check_lines(corpus, held_out), prepared, corpus, held_out)

    def _dev(self, folder: Path, data: Path, subwords: Subwords, say: Say) -> list[Any]:
        if self.data.dev is None:
            return []
        say("encoding the dev set")
        corpus = self.data.corpus(self.data.dev, data, "error")
        refuse_other(corpus.fingerprint(), f"data.dev: {corpus.files[0]}", folder / "dev.sha256", say)
        store = build_store(folder / "dev-store", corpus, subwords, say)
        return self.windows(store.sides[0].flat, subwords).first_epoch()


def encoded_text(subwords: Subwords, files: Sequence[Path], how: Evaluation) -> NDArray[np.int64]:
    """The lines of a test set as one encoded text, each with `</s>` at its end."""
    lines = [line.text for line in how.corpus(files).lines()]
    return np.array([token for ids in subwords.encode_batch(lines) for token in (*ids, EOS)])


def guesses(model: Any, hidden: Tensor, wanted: Int64[Tensor, "batch asked"]) -> Loss:
    """The cross-entropy without label smoothing, with the number of tokens that are guessed right (accuracy)."""
    asked = wanted != PAD
    loss = CrossEntropy()(model, hidden, wanted)
    right = (model.output(hidden[asked]).argmax(-1) == wanted[asked]).sum().float()
    return replace(loss, parts={**loss.parts, "accuracy": right})


def guess_scores(
    model: Model, items: Sequence[Any], judge: Callable[[Any, Any], Loss], of: str, how: Evaluation
) -> list[QualityScore]:
    """Perplexity and accuracy of what is asked for in some batches."""
    with how.measured(sum(item.count for item in items), "guesses"):
        found = validate_quietly(lambda model: mean_losses(model, items, judge), model)
    return [
        QualityScore("perplexity", found["perplexity"], digits=3, after=f" of {of}", by_token=True),
        QualityScore("accuracy", 100 * found["accuracy"], after=f" % of {of}", by_token=True),
    ]
