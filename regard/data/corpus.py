"""Corpora: training text, read and checked line by line; a corpus is never held in memory.

How rows are read from files is a format, one of `formats/`; which lines count as sentences is decided here.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from regard.base.errors import ConfigError, RegardError, UsageError, check_one_of
from regard.base.files import digest
from regard.base.wording import counted
from regard.data.format import Doubt, Format, Hints, TextRow
from regard.data.formats.text import Text
from regard.data.recognize import recognize

_BLANK = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*")
Blanks = Literal["skip", "error"]
Leaks = Literal["source", "either"]


class SentencePair(NamedTuple):
    """A sentence and its translation, with the number of the line where they begin, from 1."""

    source: str
    target: str
    line: int


class Line(NamedTuple):
    """A line of a one-sided corpus, with its number, from 1."""

    text: str
    line: int


@dataclass
class Counts:
    """Counts of lines in one pass over a corpus; they are filled in while reading."""

    read: int = 0
    kept: int = 0
    blank: int = 0
    blank_source: int = 0
    blank_target: int = 0
    held_out: int = 0
    starts: list[int] = field(default_factory=list)
    """how many lines were kept before each further corpus of a mixture begins"""

    def __str__(self) -> str:
        skipped = {
            "blank": self.blank,
            "without a source": self.blank_source,
            "without a target": self.blank_target,
            "held out": self.held_out,
        }
        notes = ", ".join(f"{count:,} {why}" for why, count in skipped.items() if count)
        return f"{self.kept:,} of {counted(self.read, 'line')}" + (f"; skipped: {notes}" if notes else "")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One or two sides of text on disk; `open_corpus` makes one from file names.

    `blanks` says what happens to a line without text on one side: training skips and counts it, an evaluation set
    makes it an error, since every line there must keep its place. A line that is blank on all sides is always skipped
    in training and always an error in evaluation.
    """

    files: tuple[Path, ...]
    format: Format = field(default_factory=Text)
    blanks: Blanks = "skip"
    without: "tuple[Corpus, ...]" = ()
    """held-out corpora: lines that share a side with one of theirs are left out, so that nothing leaks"""
    also: "tuple[Corpus, ...]" = ()
    """further corpora, whose lines follow"""
    leaks: Leaks = "either"
    """which shared side leaves a line out: the source, or either"""

    def __post_init__(self) -> None:
        check_one_of("corpus", get_args(Blanks), blanks=self.blanks)
        if not 1 <= len(self.files) <= self.format.most:
            kind = type(self.format).__name__.lower()
            raise ConfigError(f"corpus.files: {kind} takes at most {self.format.most} files, not {len(self.files)}")

    @property
    def sides(self) -> int:
        """Two for translation, one for a language model."""
        return self.format.sides(self.files)

    def pairs(self, counts: Counts | None = None) -> Iterator[SentencePair]:
        """The pairs in order; `counts` is filled in on the way."""
        if self.sides != 2:
            raise ConfigError(f"{self.files[0]}: pairs need a source and a target, but this corpus has one side")
        for row in self._checked(counts or Counts()):
            yield SentencePair(row.texts[0], row.texts[1], row.line)

    def lines(self, counts: Counts | None = None) -> Iterator[Line]:
        """The lines of a one-sided corpus in order; `counts` is filled in on the way."""
        if self.sides != 1:
            raise ConfigError(f"{self.files[0]}: this corpus has two sides; read its pairs, or give one side alone")
        for row in self._checked(counts or Counts()):
            yield Line(row.texts[0], row.line)

    def rows(self, counts: Counts | None = None) -> Iterator[tuple[str, ...]]:
        """The texts of each line, one or two of them, without their number."""
        return (row.texts for row in self.numbered(counts))

    def numbered(self, counts: Counts | None = None) -> Iterator[TextRow]:
        """The texts of each line with its number."""
        return self._checked(counts or Counts())

    def fingerprint(self) -> str:
        """A hash of the files' content and of how they are read."""
        how = [*self.format.key(), self.blanks, *(digest(file) for file in self.files)]
        how += [self.leaks] * bool(self.without) + [corpus.fingerprint() for corpus in self.without]
        how += [f"also {corpus.fingerprint()}" for corpus in self.also]
        return hashlib.sha256("\n".join(how).encode()).hexdigest()

    @cached_property
    def _hidden(self) -> tuple[frozenset[int], ...]:
        """The hashes of all held-out texts, by side."""
        sides: list[set[int]] = [set() for _ in range(self.sides)]
        for corpus in self.without:
            for row in corpus.rows():
                for side, text in zip(sides, row, strict=True):
                    side.add(text_hash(text))
        return tuple(map(frozenset, sides))

    def _checked(self, counts: Counts) -> Iterator[TextRow]:
        yield from self._own(counts)
        for corpus in self.also:
            counts.starts.append(counts.kept)
            yield from replace(corpus, without=self.without, leaks=self.leaks)._own(counts)

    def _own(self, counts: Counts) -> Iterator[TextRow]:
        for row in self.format.rows(self.files):
            counts.read += 1
            missing = [at for at, text in enumerate(row.texts) if is_blank(text)]
            if not missing:
                if self.without and self._is_held_out(row):
                    counts.held_out += 1
                    continue
                counts.kept += 1
                yield row
                continue
            if self.blanks == "error":
                raise RegardError(f"{self.format.place(self.files, row.line, missing[0])}: the line is blank")
            if len(missing) == len(row.texts):
                counts.blank += 1
            elif missing[0] == 0:
                counts.blank_source += 1
            else:
                counts.blank_target += 1

    def _is_held_out(self, row: TextRow) -> bool:
        looked_at = row.texts if self.leaks == "either" else row.texts[:1]
        return any(text_hash(text) in hidden for text, hidden in zip(looked_at, self._hidden, strict=False))


def open_corpus(
    source: str | Path,
    target: str | Path | None = None,
    *,
    format: Format | None = None,  # noqa: A002 - the word a reader looks for
    hints: Hints | None = None,
    blanks: Blanks = "skip",
) -> Corpus:
    """The corpus in one or two files; without `format`, the content and the names of the files tell it."""
    files = (Path(source),) if target is None else (Path(source), Path(target))
    try:
        return Corpus(files=files, format=format or recognize(files, hints).format, blanks=blanks)
    except Doubt as doubt:
        raise UsageError(f"{doubt.problem}; two files, one for each side, leave no doubt") from doubt


def is_blank(text: str) -> bool:
    """Whether a text has nothing to be seen: white space, and characters without width such as U+200B."""
    return _BLANK.fullmatch(text) is not None


def text_hash(text: str) -> int:
    """64 bits that are equal for texts that differ only in case and white space."""
    folded = " ".join(text.casefold().split())
    return int.from_bytes(hashlib.blake2b(folded.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Texts:
    """The texts of some sides of a corpus as one iterable that can be read repeatedly, as tokenizer training does."""

    corpus: Corpus
    sides: tuple[int, ...] = (0, 1)
    limit: int | None = None

    def __iter__(self) -> Iterator[str]:
        for row in islice(self.corpus.rows(), self.limit):
            for side in self.sides:
                yield row[side]
