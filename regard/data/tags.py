"""Tagged sentences: a tag for each word, such as its part of speech or the chunk that it is in.

| written as | a sentence |
|---|---|
| `columns` | a word a line, its tag in the last column, a blank line between sentences (CoNLL) |
| `jsonl` | an object a line with the lists `words` and `tags` |

A word may have a factor: a further input such as its part of speech, in a column of its own or in the list `factors`.
Sennrich and Haddow, 2016, https://arxiv.org/abs/1606.02892.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
import torch
from jaxtyping import Int64
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import read_lines
from regard.base.wording import counted
from regard.data.column_choice import are_labels
from regard.data.framed import Frame, FramedTexts, batch_of
from regard.data.item import even_rows
from regard.data.plan import BatchPlan, BatchPosition
from regard.data.subwords.tokenizer import Subwords
from regard.data.unseen import unseen_labels
from regard.data.word_dropout import WordDropout

TaggedFormat = Literal["columns", "jsonl"]
_LOOKED_AT = 2_000
NO_TAG = -1
"""where no tag is asked for: padding, marks, all tokens of a word but its first, and tags that training did not see"""


@dataclass(frozen=True)
class TaggedSentence:
    """The words of a sentence and their tags, the line at which it ends, from 1, and the words' factors, if any."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    line: int
    factors: tuple[str, ...] = ()


def read_tagged(
    path: Path,
    format: TaggedFormat | None = None,  # noqa: A002 the setting's name
    column: int | None = None,
    factor: int | None = None,
) -> list[TaggedSentence]:
    """The sentences of a file; the first mistake in it is an error that names its line.

    Of columns, the one with this number, from 1, holds the tags; None: the last. With `factor`, that column holds a
    factor of each word, and JSON has the list `factors`.
    """
    objects = (format or ("jsonl" if ".jsonl" in Path(path).suffixes else "columns")) == "jsonl"
    lines = enumerate(read_lines(path), start=1)
    found = list(_of_objects(lines, path, factor) if objects else _of_columns(lines, path, column, factor))
    if not found:
        raise RegardError(f"{path}: there are no sentences")
    return found


def tells_tags(path: Path) -> bool:
    """Whether the first lines of a file are words with a tag each: columns in blocks, or JSON with words and tags."""
    try:
        lines = list(islice(read_lines(path), _LOOKED_AT))
    except RegardError:
        return False
    if lines and lines[0].lstrip().startswith("{"):
        try:
            return {"words", "tags"} <= msgspec.json.decode(lines[0], type=dict[str, object]).keys()
        except msgspec.DecodeError:
            return False
    rows = [line.split() for line in lines]
    filled = [row for row in rows if row]
    widths = {len(row) for row in filled}
    if len(widths) != 1 or widths == {1} or not 0 < len(rows) - len(filled) <= len(filled) // 2:
        return False
    return are_labels([row[-1] for row in filled]) and not are_labels([row[0] for row in filled])


def factor_column(path: Path) -> int | None:
    """The second column, if it holds labels, such as parts of speech, beside words and tags; None if it does not."""
    if ".jsonl" in Path(path).suffixes:
        return None
    rows = [row for row in (line.split() for line in islice(read_lines(path), _LOOKED_AT)) if row]
    return 2 if rows and min(map(len, rows)) > 2 and are_labels([row[1] for row in rows]) else None


def _of_columns(
    lines: Iterator[tuple[int, str]], path: Path, column: int | None, factor: int | None
) -> Iterator[TaggedSentence]:
    words: list[str] = []
    tags: list[str] = []
    factors: list[str] = []
    number = 0
    for number, line in (*lines, (0, "")):
        columns = line.split()
        if len(columns) == 1:
            raise RegardError(f"{path}, line {number}: must be a word and, in the last column, its tag")
        for what, place in (("tag", column), ("factor", factor)):
            if columns and place is not None and len(columns) < place:
                raise RegardError(
                    f"{path}, line {number}: has {counted(len(columns), 'column')}, so no {what} in column {place}"
                )
        if columns:
            words.append(columns[0])
            tags.append(columns[-1 if column is None else column - 1])
            factors += [] if factor is None else [columns[factor - 1]]
        elif words:
            yield TaggedSentence(tuple(words), tuple(tags), number, tuple(factors))
            words, tags, factors = [], [], []


def _of_objects(lines: Iterator[tuple[int, str]], path: Path, factor: int | None) -> Iterator[TaggedSentence]:
    for number, line in lines:
        where = f"{path}, line {number}"
        try:
            content = msgspec.json.decode(line, type=dict[str, list[str]])
            words, tags = content["words"], content["tags"]
            factors = [] if factor is None else content["factors"]
        except (msgspec.DecodeError, KeyError) as error:
            raise RegardError(f"{where}: must be a JSON object with the lists words and tags ({error})") from error
        if len(words) != len(tags):
            raise RegardError(f"{where}: has {counted(len(words), 'word')}, but {counted(len(tags), 'tag')}")
        if factor is not None and len(words) != len(factors):
            raise RegardError(f"{where}: has {counted(len(words), 'word')}, but {counted(len(factors), 'factor')}")
        if not words or any(len(word.split()) != 1 for word in words):
            raise RegardError(f"{where}: each word must be a text without spaces")
        yield TaggedSentence(tuple(words), tuple(tags), number, tuple(factors))


def tag_numbers(sentences: Sequence[TaggedSentence], tags: Sequence[str]) -> list[list[int]]:
    """The numbers of each sentence's tags; `NO_TAG` for a tag that training did not see."""
    number = {tag: at for at, tag in enumerate(tags)}
    return [[number.get(tag, NO_TAG) for tag in sentence.tags] for sentence in sentences]


def unseen_tags(sentences: Sequence[TaggedSentence], tags: Sequence[str]) -> Counter[str]:
    """How often each tag occurs that training did not see."""
    return unseen_labels((tag for sentence in sentences for tag in sentence.tags), tags)


def word_row(
    subwords: Subwords, words: Sequence[str], frame: Frame, factors: Sequence[int] = ()
) -> tuple[tuple[list[int], list[int]], list[int | None]]:
    """The tokens and segments of a sentence, and the place of each word's first token; None beyond the frame.

    Where words have factors, the segment of a token is the number of its word's factor, and 0 for marks.
    """
    pieces = subwords.encode_with_offsets(" ".join(words))
    row = frame.row([[piece.id for piece in pieces]])
    if factors:
        inner = [factors[piece.word] for piece in pieces][: len(row[0]) - 2]
        row = row[0], [0, *inner, 0]
    first: dict[int, int] = {}
    for at, piece in enumerate(pieces, start=1):
        if at < len(row[0]) - 1:
            first.setdefault(piece.word, at)
    return row, [first.get(word) for word in range(len(words))]


@dataclass(frozen=True)
class TaggedTexts:
    """A batch of sentences and the number of each word's tag, at its first token."""

    texts: FramedTexts
    tags: Int64[Tensor, "batch length"]

    @property
    def count(self) -> int:
        """The number of tagged words."""
        return int((self.tags != NO_TAG).sum())

    @property
    def size(self) -> int:
        """The same with padding: were all places tokens, so many words would be tagged."""
        return round(self.count * self.tags.numel() / int(self.texts.lengths.sum()))

    def to(self, device: torch.device | str) -> "TaggedTexts":
        """The same batch on another device."""
        return TaggedTexts(self.texts.to(device), self.tags.to(device, non_blocking=True))

    def shares(self, count: int) -> list["TaggedTexts"]:
        """At most `count` batches with about as many tokens each."""
        parts = [(self.texts.pick(rows), rows) for rows in even_rows(self.texts.lengths, count)]
        return [TaggedTexts(texts, self.tags[rows, : texts.tokens.shape[1]]) for texts, rows in parts]


@dataclass(frozen=True)
class TaggedRows:
    """Encoded sentences in batches of similar length."""

    rows: Sequence[tuple[list[int], list[int]]]
    tags: Sequence[list[int]]
    """of each token"""
    plan: BatchPlan
    dropout: WordDropout = field(default_factory=WordDropout)

    def at(self, position: BatchPosition) -> TaggedTexts:
        """The batch at a position, after word dropout."""
        batch = self.of(self.plan.at(position).tolist())
        return replace(batch, texts=self.dropout(batch.texts, position))

    def of(self, chosen: Sequence[int]) -> TaggedTexts:
        """A batch of the sentences with these numbers."""
        texts = batch_of([self.rows[at] for at in chosen])
        tags = torch.full(texts.tokens.shape, NO_TAG)
        for row, at in enumerate(chosen):
            tags[row, : len(self.tags[at])] = torch.tensor(self.tags[at])
        return TaggedTexts(texts, tags)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, TaggedTexts]]:
        """Each position and its batch from the given one on, without end."""
        return ((at, self.at(at)) for at in self.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many batches the first epoch has, and how many tagged words."""
        return len(self.plan.plan(0)), sum(tag != NO_TAG for tags in self.tags for tag in tags)

    def all(self) -> list[TaggedTexts]:
        """Every sentence once, in the batches of the first epoch."""
        return [self.of(chosen.tolist()) for chosen in self.plan.plan(0)]
