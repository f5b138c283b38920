"""Tagging: a tag for each word, such as its part of speech, or the chunk or name that it is in."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from regard.base.errors import check_at_least
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

    def __post_init__(self) -> None:
        check_at_least("data", 2, column=2 if self.column is None else self.column)

    def read(self, files: tuple[Path, ...], folder: Path) -> list[TaggedSentence]:
        """The sentences of all files; relative names start at `folder`."""
        return [sentence for file in files for sentence in read_tagged(folder / file, self.format, self.column)]


@dataclass(frozen=True, kw_only=True)
class PreparedTags(Prepared):
    """Prepared sentences, with the names of their tags and the dev set as it was read."""

    tags: tuple[str, ...]
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
        kept = folder / "tags.json"
        if not kept.exists():
            found = sorted({tag for sentence in sentences for tag in sentence.tags})
            write_text(kept, json.dumps(found, ensure_ascii=False))
        tags = tuple(json.loads(read_text(kept)))
        say("encoding")
        held_out = () if self.data.dev is None else tuple(self.data.read(self.data.dev, data))
        dev_where = " and ".join(str(data / file) for file in self.data.dev or ())
        unseen = unseen_tags(held_out, tags)
        return PreparedTags(
            sizes={"text": len(subwords), "tags": len(tags)},
            train=self._rows(sentences, tags, subwords),
            dev=self._rows(held_out, tags, subwords).all() if held_out else [],
            tokenizers={"text": subwords.to_json()},
            summary=f"{len(sentences):,} training sentences, {len(tags)} tags",
            tags=tags,
            subwords=subwords,
            held_out=held_out,
            notes=(unseen_note(unseen, dev_where, "tag", "word"),) if unseen else (),
        )

    def texts(self, data: Path) -> list[str]:
        """The training sentences, from which subwords are learned."""
        return _lines(self.data.read(self.data.train, data))

    def loss(self, model: Headed, item: TaggedTexts) -> Loss:
        asked = item.tags != NO_TAG
        logits, wanted = model(*item.texts.parts)[asked], item.tags[asked]
        right = (logits.detach().argmax(-1) == wanted).sum().float()
        return Loss(F.cross_entropy(logits, wanted, reduction="sum"), len(wanted), {"accuracy": right})

    def metrics(self, model: Headed, prepared: PreparedTags) -> dict[str, float]:
        """The loss, the share of words whose tag is right and, for tags of chunks, their F1."""
        found = mean_losses(model, prepared.dev, self.loss)
        known, unseen = sum(item.count for item in prepared.dev), unseen_tags(prepared.held_out, prepared.tags).total()
        found["accuracy"] *= known / (known + unseen)
        if not is_chunked(prepared.tags):
            return found
        tagger = Tagger(model, prepared.subwords, prepared.tags, frame=self.frame)
        predicted = tagger.tag([sentence.words for sentence in prepared.held_out])
        return found | {"f1": chunk_f1([sentence.tags for sentence in prepared.held_out], predicted)}

    def extras(self, design: Design, model: Headed, prepared: PreparedTags) -> dict[str, Any]:
        """The names of the tags, and how sentences are read."""
        frame = {"longest": self.frame.longest, "separators": self.frame.separators}
        return {"tags": list(prepared.tags), "frame": frame, "column": self.data.column}

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
        return Tagger(model, subwords, told["tags"], told.get("column"), frame=Frame(**told.get("frame", {})))

    @classmethod
    def evaluate(cls, opened: Tagger, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """F1 of chunks, if the tags mark any, and accuracy by word."""
        sentences = [sentence for file in files for sentence in read_tagged(file, column=opened.column)]
        if unseen := unseen_tags(sentences, opened.tags):
            how.warn(unseen_note(unseen, str(files[0]), "tag", "word"))
        predicted = opened.tag([sentence.words for sentence in sentences])
        if how.out is not None:
            write_text(how.out, "".join(f"{' '.join(tags)}\n" for tags in predicted))
        true = [sentence.tags for sentence in sentences]
        pairs = [pair for one, other in zip(true, predicted, strict=True) for pair in zip(one, other, strict=True)]
        right = 100 * sum(one == other for one, other in pairs) / len(pairs)
        scores = [QualityScore("F1", 100 * chunk_f1(true, predicted), after=" % of chunks")]
        return [*(scores if is_chunked(opened.tags) else []), QualityScore("accuracy", right, after=" % of words")]

    def _rows(self, sentences: Sequence[TaggedSentence], tags: Sequence[str], subwords: Subwords) -> TaggedRows:
        rows, marked = [], []
        for sentence, numbers in zip(sentences, tag_numbers(sentences, tags), strict=True):
            row, places = word_row(subwords, sentence.words, self.frame)
            own = [NO_TAG] * len(row[0])
            for at, number in zip(places, numbers, strict=True):
                if at is not None:
                    own[at] = number
            rows.append(row)
            marked.append(own)
        lengths = torch.tensor([len(row) for row, _ in rows]).int().numpy()
        return TaggedRows(rows, marked, BatchPlan(lengths, lengths, self.batches), self.word_dropout)


def _lines(sentences: Sequence[TaggedSentence]) -> list[str]:
    return [" ".join(sentence.words) for sentence in sentences]
