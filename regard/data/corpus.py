"""Corpora: training text, read and checked line by line; a corpus is never held in memory.

| written as | sides | file |
|---|---|---|
| `text` | 1 or 2 | one sentence a line; two parallel files, or one for a language model |
| `tsv` | 2 | source and target in two columns, split at the tab, nothing quoted |
| `jsonl` | 1 or 2 | an object a line; `keys` names the fields to read |

Each may be gzip-compressed.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import msgspec

from regard.base.errors import ConfigError, RegardError, check_one_of
from regard.base.files import digest, read_lines

Format = Literal["text", "tsv", "jsonl"]
Blanks = Literal["skip", "error"]
_SUFFIXES: dict[str, Format] = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_SIDES = ("source", "target")


class SentencePair(NamedTuple):
    """A sentence and its translation, with the number of their line, from 1."""

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

    def __str__(self) -> str:
        skipped = {
            "blank": self.blank,
            "without a source": self.blank_source,
            "without a target": self.blank_target,
        }
        notes = ", ".join(f"{count:,} {why}" for why, count in skipped.items() if count)
        return f"{self.kept:,} of {self.read:,} lines" + (f"; skipped: {notes}" if notes else "")


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One or two sides of text on disk; `open_corpus` makes one from file names.

    `blanks` says what happens to a line without text on one side: training skips and counts it, an evaluation set
    makes it an error, since every line there must keep its place. A line that is blank on all sides is always skipped
    in training and always an error in evaluation.
    """

    files: tuple[Path, ...]
    format: Format = "text"
    keys: tuple[str, ...] = _SIDES
    blanks: Blanks = "skip"

    def __post_init__(self) -> None:
        check_one_of("corpus", get_args(Format), format=self.format)
        check_one_of("corpus", get_args(Blanks), blanks=self.blanks)
        most = 2 if self.format == "text" else 1
        if not 1 <= len(self.files) <= most:
            raise ConfigError(f"corpus.files: {self.format} takes at most {most} files, not {len(self.files)}")
        if not 1 <= len(self.keys) <= 2:
            raise ConfigError(f"corpus.keys: one or two names are wanted, not {len(self.keys)}")

    @property
    def sides(self) -> int:
        """Two for translation, one for a language model."""
        return {"text": len(self.files), "tsv": 2, "jsonl": len(self.keys)}[self.format]

    def pairs(self, counts: Counts | None = None) -> Iterator[SentencePair]:
        """The pairs in order; `counts` is filled in on the way."""
        if self.sides != 2:
            raise ConfigError(f"{self.files[0]}: pairs need a source and a target, but this corpus has one side")
        for number, (source, target) in self._checked(counts or Counts()):
            yield SentencePair(source, target, number)

    def lines(self, counts: Counts | None = None) -> Iterator[Line]:
        """The lines of a one-sided corpus in order; `counts` is filled in on the way."""
        if self.sides != 1:
            raise ConfigError(f"{self.files[0]}: this corpus has two sides; read its pairs, or give one side alone")
        for number, (text,) in self._checked(counts or Counts()):
            yield Line(text, number)

    def rows(self, counts: Counts | None = None) -> Iterator[tuple[str, ...]]:
        """The texts of each line, one or two of them, without their number."""
        return (texts for _, texts in self._checked(counts or Counts()))

    def fingerprint(self) -> str:
        """A hash of the files' content and of how they are read."""
        how = [self.format, *self.keys, self.blanks, *(digest(file) for file in self.files)]
        return hashlib.sha256("\n".join(how).encode()).hexdigest()

    def _checked(self, counts: Counts) -> Iterator[tuple[int, tuple[str, ...]]]:
        for number, texts in enumerate(self._read(), start=1):
            counts.read += 1
            missing = [at for at, text in enumerate(texts) if not text or text.isspace()]
            if not missing:
                counts.kept += 1
                yield number, texts
                continue
            if self.blanks == "error":
                raise RegardError(f"{self._place(number, missing[0])}: the line is blank")
            if len(missing) == len(texts):
                counts.blank += 1
            elif missing[0] == 0:
                counts.blank_source += 1
            else:
                counts.blank_target += 1

    def _place(self, number: int, side: int) -> str:
        if self.format == "text":
            return f"{self.files[side]}, line {number}"
        return f"{self.files[0]}, line {number}, {self.keys[side] if self.format == 'jsonl' else _SIDES[side]}"

    def _read(self) -> Iterator[tuple[str, ...]]:
        match self.format:
            case "tsv":
                return _read_tsv(self.files[0])
            case "jsonl":
                return _read_jsonl(self.files[0], self.keys)
            case _ if len(self.files) == 1:
                return ((line,) for line in read_lines(self.files[0]))
            case _:
                return _read_parallel(*self.files)


def open_corpus(
    source: str | Path,
    target: str | Path | None = None,
    *,
    format: Format | None = None,  # noqa: A002 - the word a reader looks for
    keys: tuple[str, ...] = _SIDES,
    blanks: Blanks = "skip",
) -> Corpus:
    """The corpus in one or two files; without `format`, a lone file's ending (`.tsv`, `.jsonl`) tells it."""
    files = (Path(source),) if target is None else (Path(source), Path(target))
    ending = files[0].with_suffix("").suffix if files[0].suffix == ".gz" else files[0].suffix
    guessed = _SUFFIXES.get(ending, "text") if target is None else "text"
    return Corpus(files=files, format=format or guessed, keys=keys, blanks=blanks)


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


def _read_parallel(source: Path, target: Path) -> Iterator[tuple[str, ...]]:
    lines = zip_longest(read_lines(source), read_lines(target))
    for read, (left, right) in enumerate(lines):
        if left is None or right is None:
            longer = read + 1 + sum(1 for _ in lines)
            counts = (read, longer) if left is None else (longer, read)
            raise RegardError(
                f"{source} has {counts[0]:,} lines but {target} has {counts[1]:,}; line n of one must translate line n "
                "of the other"
            )
        yield left, right


def _read_tsv(path: Path) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) != 2 and line.strip():
            raise RegardError(f"{path}, line {number}: two columns are wanted, but there are {len(columns)}")
        yield (columns[0], columns[1]) if len(columns) == 2 else ("", "")


def _read_jsonl(path: Path, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    decoder = msgspec.json.Decoder(dict)
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            yield ("",) * len(keys)
            continue
        try:
            record = decoder.decode(line)
        except msgspec.DecodeError as error:
            raise RegardError(f"{path}, line {number}: not a JSON object: {error}") from error
        for key in keys:
            if not isinstance(record.get(key), str):
                found = f"is {type(record[key]).__name__}" if key in record else f"is missing from {sorted(record)}"
                raise RegardError(f"{path}, line {number}: '{key}' must be a text, but {found}")
        yield tuple(record[key] for key in keys)
