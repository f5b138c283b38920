"""Sentence vectors, learned from pairs of texts that mean the same: a text finds its partner among those of a batch.

    loss = - Σ_i ½ (log softmax_j(cos(a_i, b_j) / τ)_i + log softmax_j(cos(b_i, a_j) / τ)_i)

In-batch negatives: Henderson et al., 2017, https://arxiv.org/abs/1705.00652; for sentence encoders Reimers and
Gurevych, 2019, https://arxiv.org/abs/1908.10084. Lines without partners are their own: the encoder reads each line
twice, and dropout makes two views a_i, b_i of it. SimCSE: Gao et al., 2021, https://arxiv.org/abs/2104.08821.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from regard.base.errors import ConfigError, RegardError
from regard.base.files import write_text
from regard.data.corpus import Corpus
from regard.data.framed import Frame
from regard.data.labeled_files import read_labeled
from regard.data.plan import BatchPlan, BatchSettings
from regard.data.subwords.tokenizer import Subwords
from regard.data.text_pairs import PairRows, TextPairs
from regard.decoding.sentence_encoder import SentenceEncoder
from regard.decoding.strategy import Strategy
from regard.metrics.correlation import spearman
from regard.metrics.quality import QualityScore
from regard.models.headed import Headed
from regard.models.model import Design
from regard.runs.artifact import Artifact
from regard.tasks.task import Evaluation, Prepared, Say, Task
from regard.tasks.texts import DataSettings, SubwordChoice, one_model, refuse_other
from regard.training.contrast_loss import partner_loss
from regard.training.loss import Loss


@dataclass(frozen=True, kw_only=True)
class PairLoss:
    """The loss of pairs."""

    temperature: float = 0.05
    """the cosine is divided by it: the smaller, the more the nearest wrong texts count"""

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ConfigError(f"loss: temperature must be more than 0, but is {self.temperature}")


@dataclass(frozen=True, kw_only=True)
class Embed(Task):
    """The settings of a run of sentence vectors beside model and training."""

    unit: ClassVar[str] = "pairs"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("text", "vector")
    offers: ClassVar[type] = Headed

    data: DataSettings
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    batches: BatchSettings = field(default_factory=BatchSettings)
    frame: Frame = field(default_factory=lambda: Frame(longest=256))
    pair_loss: PairLoss = field(default_factory=PairLoss, metadata={"path": "training.loss"})
    design: Design | None = field(default=None, metadata={"path": "model"})

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> Prepared:
        corpus = self._training(data)
        refuse_other(corpus.fingerprint(), f"data.train: {corpus.files[0]}", folder / "text.sha256")
        say("subwords")
        pairs = list(corpus.rows())
        subwords = self.subwords.of_texts([text for pair in pairs for text in pair], folder / "subwords.json", data)
        say("encoding")
        return Prepared(
            sizes={"text": len(subwords), "vector": 1},
            train=self._rows(corpus, subwords),
            dev=[] if self.data.dev is None else self._rows(self._held_out(data), subwords).all(),
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(pairs):,} {'pairs of texts' if corpus.sides == 2 else 'texts, each its own partner'}",
        )

    def _training(self, data: Path) -> Corpus:
        """Pairs, or lines; of a line dropout has to make two views."""
        corpus = self.data.training(data, self.data.corpus(self.data.train, data, "skip").sides)
        share = getattr(self.design, "dropout", None)
        if corpus.sides == 1 and share == 0:
            raise ConfigError(
                "model.dropout: must be more than 0, such as 0.1: lines have no partners, so dropout makes two views "
                "of each (SimCSE)"
            )
        return corpus

    def _held_out(self, data: Path) -> Corpus:
        """Pairs to validate on: without dropout, a line would always find itself."""
        corpus = self.data.corpus(self.data.dev or (), data, "error")
        if corpus.sides != 2:
            raise ConfigError(
                f"data.dev: {corpus.files[0]} holds lines; sentence vectors are validated on pairs of texts"
            )
        return corpus

    def loss(self, model: Headed, item: TextPairs) -> Loss:
        """The loss, and how many texts have their own partner as the nearest."""
        first, second = (F.normalize(model(*side.parts), dim=-1) for side in (item.first, item.second))
        total, found = partner_loss(first @ second.T / self.pair_loss.temperature)
        return Loss(total, item.count, {"accuracy": found})

    def extras(self, design: Design, model: Headed, prepared: Prepared) -> dict[str, Any]:
        """Vectors have length 1, since the loss compares directions; and how texts are read."""
        frame = {"longest": self.frame.longest, "separators": self.frame.separators}
        return {"normalize": True, "frame": frame}

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Headed],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> SentenceEncoder:
        """An encoder of sentences."""
        artifact, model = one_model(artifacts, models)
        told = artifact.extras
        return SentenceEncoder(
            model,
            Subwords.from_json(artifact.tokenizers["text"]),
            normalize=bool(told.get("normalize", False)),
            frame=Frame(**told.get("frame", {})),
        )

    @classmethod
    def evaluate(cls, opened: SentenceEncoder, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The rank correlation of the cosine with a score for each pair, given as `score, text, text` a line."""
        examples = [example for file in files for example in read_labeled(file)]
        scores = [_number(example.labels[0], f"{files[0]}, line {example.line}") for example in examples]
        if len(examples[0].texts) != 2:
            raise RegardError(f"{files[0]}: each line must be a score and two texts, split at tabs")
        with how.measured(len(examples), "pairs"):
            first, second = (opened.embed([one.texts[side] for one in examples], normalize=True) for side in (0, 1))
        cosines = (first * second).sum(1).tolist()
        if how.out is not None:
            write_text(how.out, "".join(f"{cosine:.6f}\n" for cosine in cosines))
        return [QualityScore("Spearman", 100 * spearman(cosines, scores), after=f" of {len(scores):,} pairs")]

    def _rows(self, corpus: Corpus, subwords: Subwords) -> PairRows:
        pairs = list(corpus.rows())
        first, second = (self.frame.rows(subwords, [(pair[side],) for pair in pairs]) for side in (0, -1))
        lengths = [torch.tensor([len(row) for row, _ in side]).int().numpy() for side in (first, second)]
        return PairRows(first, second, BatchPlan(lengths[0], lengths[1], self.batches))


def _number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise RegardError(f"{where}: the first column must be a score, a number, but is '{text}'") from error
