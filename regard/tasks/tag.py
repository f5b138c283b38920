"""Tagging: a tag for each word, such as its part of speech, or the chunk or name that it is in."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.base.errors import check_at_least, check_one_of
from regard.base.files import digest, read_text, write_text
from regard.data.framed import Frame
from regard.data.plan import BatchPlan, BatchSettings
from regard.data.subwords.tokenizer import Subwords
from regard.data.tags import (
    NO_TAG,
    TaggedFormat,
    TaggedRows,
    TaggedSentence,
    TaggedTexts,
    read_tagged,
    tag_numbers,
    unseen_tags,
    word_row,
)
from regard.data.unseen import unseen_note
from regard.data.word_dropout import WordDropout
from regard.decoding.strategy import Strategy
from regard.decoding.tagger import Tagger
from regard.metrics.chunks import chunk_f1, is_chunked
from regard.metrics.quality import QualityScore
from regard.models.headed import Headed
from regard.models.model import Design
from regard.runs.artifact import Artifact
from regard.tasks.label_advice import advise_tags
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.tasks.texts import SubwordChoice, one_model, refuse_other
from regard.training.loss import Loss
from regard.training.validation import mean_losses

Transitions = Literal["none", "learned"]


@dataclass(frozen=True, kw_only=True)
class TaggedData:
    """The files of tagged sentences; see `regard.data.tags`."""

    train: tuple[Path, ...]
    """the files of tagged sentences to learn from"""
    dev: tuple[Path, ...] | None = None
    """the files of the validation set"""
    format: TaggedFormat | None = None
    """by default jsonl for files of that suffix, else columns"""
    column: int | None = None
    """the column of the tags, counted from 1; none: the last"""
    factor: int | None = None
    """the column of a further input of each word, such as its part of speech; none: words alone"""

    def __post_init__(self) -> None:
        check_at_least("data", 2, column=self.column or 2, factor=self.factor or 2)

    def read(self, files: tuple[Path, ...], folder: Path) -> list[TaggedSentence]:
        """The sentences of all files; relative names start at `folder`."""
        places = (self.format, self.column, self.factor)
        return [sentence for file in files for sentence in read_tagged(folder / file, *places)]


@dataclass(frozen=True, kw_only=True)
class TagLoss:
    """The loss of tags: cross-entropy of each word's tag, or of a sentence's tags together."""

    transitions: Transitions = "none"
    """learned: also how tags follow each other, a linear-chain conditional random field (CRF)"""

    def __post_init__(self) -> None:
        check_one_of("loss", get_args(Transitions), transitions=self.transitions)


@dataclass(frozen=True, kw_only=True)
class PreparedTags(Prepared):
    """Prepared sentences, with the names of their tags and factors, and the dev set as it was read."""

    tags: tuple[str, ...]
    factors: tuple[str, ...] = ()
    subwords: Subwords
    held_out: tuple[TaggedSentence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tag(Task):
    """The settings of a tagging run beside model and training."""

    unit: ClassVar[str] = "words"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("text", "tags")
    offers: ClassVar[type] = Headed

    data: TaggedData
    subwords: SubwordChoice = field(default_factory=SubwordChoice)
    batches: BatchSettings = field(default_factory=BatchSettings)
    frame: Frame = field(default_factory=lambda: Frame(longest=512))
    word_dropout: WordDropout = field(default_factory=WordDropout)
    tag_loss: TagLoss = field(default_factory=TagLoss, metadata={"path": "training.loss"})

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        return advise_tags(files, wishes)

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedTags:
        sentences = self.data.read(self.data.train, data)
        where = " and ".join(str(data / file) for file in self.data.train)
        contents = " ".join(digest(data / file) for file in self.data.train)
        refuse_other(hashlib.sha256(contents.encode()).hexdigest(), f"data.train: {where}", folder / "text.sha256")
        say("subwords")
        subwords = self.subwords.of_texts(_lines(sentences), folder / "subwords.json", data)
        tags = _names(folder / "tags.json", (tag for sentence in sentences for tag in sentence.tags))
        factors = _names(folder / "factors.json", (one for sentence in sentences for one in sentence.factors))
        say("encoding")
        held_out = () if self.data.dev is None else tuple(self.data.read(self.data.dev, data))
        dev_where = " and ".join(str(data / file) for file in self.data.dev or ())
        unseen = unseen_tags(held_out, tags)
        return PreparedTags(
            sizes={"text": len(subwords), "tags": len(tags)}
            | ({"factors": 1 + len(factors)} if factors else {})
            | ({"transitions": len(tags)} if self.tag_loss.transitions == "learned" else {}),
            train=self._rows(sentences, tags, factors, subwords),
            dev=self._rows(held_out, tags, factors, subwords).all() if held_out else [],
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(sentences):,} training sentences, {len(tags)} tags",
            tags=tags,
            factors=factors,
            subwords=subwords,
            held_out=held_out,
            notes=(unseen_note(unseen, dev_where, "tag", "word"),) if unseen else (),
        )

    def texts(self, data: Path) -> list[str]:
        """The training sentences, from which subwords are learned."""
        return _lines(self.data.read(self.data.train, data))

    def loss(self, model: Headed, item: TaggedTexts) -> Loss:
        logits, asked, chain = model(*item.texts.parts), item.tags != NO_TAG, model.chain
        wanted = item.tags[asked]
        if chain is None:
            own = logits[asked]
            right = (own.detach().argmax(-1) == wanted).sum().float()
            return Loss(F.cross_entropy(own, wanted, reduction="sum"), len(wanted), {"accuracy": right})
        logits, tags, keep = _words_alone(logits.float(), item.tags)
        with torch.no_grad():
            right = (chain.best(logits, keep) == tags)[keep].sum().float()
        return Loss(chain.surprise(logits, tags, keep).sum(), len(wanted), {"accuracy": right})

    def metrics(self, model: Headed, prepared: PreparedTags) -> dict[str, float]:
        """The loss, the share of words whose tag is right and, for tags of chunks, their F1."""
        found = mean_losses(model, prepared.dev, self.loss)
        known, unseen = sum(item.count for item in prepared.dev), unseen_tags(prepared.held_out, prepared.tags).total()
        found["accuracy"] *= known / (known + unseen)
        if not is_chunked(prepared.tags):
            return found
        tagger = Tagger(model, prepared.subwords, prepared.tags, factors=prepared.factors, frame=self.frame)
        predicted = _tagged(tagger, prepared.held_out)
        return found | {"f1": chunk_f1([sentence.tags for sentence in prepared.held_out], predicted)}

    def extras(self, design: Design, model: Headed, prepared: PreparedTags) -> dict[str, Any]:
        """The names of the tags, and how sentences are read."""
        frame = {"longest": self.frame.longest, "separators": self.frame.separators}
        own = {"factor": self.data.factor, "factors": list(prepared.factors)} if prepared.factors else {}
        return {"tags": list(prepared.tags), "frame": frame, "column": self.data.column, **own}

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Headed],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Tagger:
        """A tagger of words."""
        artifact, model = one_model(artifacts, models)
        told = artifact.extras
        subwords = Subwords.from_json(artifact.tokenizers["text"])
        columns, factors = (told.get("column"), told.get("factor")), told.get("factors", ())
        return Tagger(model, subwords, told["tags"], columns, factors, frame=Frame(**told.get("frame", {})))

    @classmethod
    def evaluate(cls, opened: Tagger, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """F1 of chunks, if the tags mark any, and accuracy by word."""
        places = (None, opened.column, opened.factor)
        sentences = [sentence for file in files for sentence in read_tagged(file, *places)]
        if unseen := unseen_tags(sentences, opened.tags):
            how.warn(unseen_note(unseen, str(files[0]), "tag", "word"))
        with how.measured(sum(len(sentence.words) for sentence in sentences), "words"):
            predicted = _tagged(opened, sentences)
        if how.out is not None:
            write_text(how.out, "".join(f"{' '.join(tags)}\n" for tags in predicted))
        true = [sentence.tags for sentence in sentences]
        pairs = [pair for one, other in zip(true, predicted, strict=True) for pair in zip(one, other, strict=True)]
        right = 100 * sum(one == other for one, other in pairs) / len(pairs)
        scores = [QualityScore("F1", 100 * chunk_f1(true, predicted), after=" % of chunks")]
        return [*(scores if is_chunked(opened.tags) else []), QualityScore("accuracy", right, after=" % of words")]

    def _rows(
        self, sentences: Sequence[TaggedSentence], tags: Sequence[str], factors: Sequence[str], subwords: Subwords
    ) -> TaggedRows:
        rows, marked = [], []
        factor_number = {factor: at for at, factor in enumerate(factors, start=1)}
        for sentence, numbers in zip(sentences, tag_numbers(sentences, tags), strict=True):
            row, places = word_row(
                subwords, sentence.words, self.frame, [factor_number.get(one, 0) for one in sentence.factors]
            )
            own = [NO_TAG] * len(row[0])
            for at, number in zip(places, numbers, strict=True):
                if at is not None:
                    own[at] = number
            rows.append(row)
            marked.append(own)
        lengths = torch.tensor([len(row) for row, _ in rows]).int().numpy()
        return TaggedRows(rows, marked, BatchPlan(lengths, lengths, self.batches), self.word_dropout)


def _names(kept: Path, found: Iterable[str]) -> tuple[str, ...]:
    """The names that occur, sorted, and kept in a file, which decides from then on."""
    names = sorted(set(found))
    if names and not kept.exists():
        write_text(kept, json.dumps(names, ensure_ascii=False))
    return tuple(json.loads(read_text(kept))) if names else ()


def _words_alone(logits: Tensor, tags: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The logits and tags of words, without the tokens between them, and where there is a word in each row."""
    asked = tags != NO_TAG
    counts = asked.sum(1)
    order = (~asked).to(torch.uint8).argsort(dim=1, stable=True)[:, : int(counts.max())]
    keep = torch.arange(order.shape[1], device=tags.device) < counts[:, None]
    own = logits.gather(1, order[:, :, None].expand(-1, -1, logits.shape[2]))
    return own, tags.gather(1, order).clamp(min=0), keep


def _tagged(tagger: Tagger, sentences: Sequence[TaggedSentence]) -> list[list[str]]:
    factors = [sentence.factors for sentence in sentences] if tagger.factors else None
    return tagger.tag([sentence.words for sentence in sentences], factors)


def _lines(sentences: Sequence[TaggedSentence]) -> list[str]:
    return [" ".join(sentence.words) for sentence in sentences]
