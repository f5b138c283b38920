"""Which settings suit a corpus: from a look at its lines, with the reasons in words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from regard.base.errors import RegardError
from regard.data.corpus import Corpus, Counts
from regard.data.subwords.tokenizer import UNSPACED

_LOOKED_AT = 100_000


@dataclass(frozen=True)
class Look:
    """What a corpus is like."""

    lines: int
    sides: int
    words: float
    """in a line, the mean over all sides; without spaces, two letters count as a word"""
    characters: float


@dataclass(frozen=True)
class Advice:
    """Settings for a run, each with its reason."""

    model: str
    preset: str
    sizes: Mapping[str, float]
    """settings of the model that differ from the preset's"""
    subwords: str
    size: int
    tokens: int
    """of a batch"""
    steps: int
    warmup: int
    optimizer: str
    rate: float
    validate_every: int
    reasons: tuple[str, ...]


def look_at(corpus: Corpus) -> Look:
    """Count all lines, and the words of the first hundred thousand."""
    counts = Counts()
    rows: Iterator[tuple[str, ...]] = corpus.rows(counts)
    words = characters = seen = 0
    for row in islice(rows, _LOOKED_AT):
        for text in row:
            parts = text.split()
            words += max(len(parts), len(UNSPACED.findall(text)) // 2)
            characters += len(text)
            seen += 1
    for _ in rows:
        continue
    if not counts.kept:
        raise RegardError(f"{corpus.files[0]}: no line has text on every side")
    return Look(counts.kept, corpus.sides, words / seen, characters / seen)


def advise(look: Look, model: str | None, preset: str | None) -> Advice:
    """Settings by the size and the kind of the text."""
    reasons = []
    if look.sides == 1:
        chosen, size_name, subwords, size = "gpt", "tiny", "bpe", _vocabulary(look.lines)
        reasons.append("one side of text: a language model")
    elif look.characters < 48 and look.words < 7:
        chosen, size_name, subwords, size = "seq2seq", "dates", "character", 2_000
        reasons.append(f"short lines ({look.characters:.0f} characters): characters, and a recurrent network")
    else:
        chosen, subwords, size = "transformer", "bpe", _vocabulary(look.lines)
        size_name = "tiny" if look.lines < 200_000 else "small" if look.lines < 1_000_000 else "base"
        reasons.append(f"{look.lines:,} pairs: a {size_name} Transformer, {_pieces(subwords, size)}")
    tokens = 2048 if look.lines < 200_000 and subwords != "character" else 4096
    named = model or chosen
    if named != chosen:
        reasons = [f"{look.lines:,} lines: a {named}, as you ask for, {_pieces(subwords, size)}"]
    sized = preset or (size_name if named == chosen else "small" if named == "seq2seq" else "tiny")
    quick = (named, sized) == ("transformer", "tiny")
    optimizer, rate, epochs = ("muon", 8e-3, 15) if quick else ("adam", 2e-3 if named == "seq2seq" else 1e-3, 25)
    epoch = max(1, round(look.lines * _tokens_per_line(look, subwords) / tokens))
    steps = _between(1_000, epoch * epochs, 100_000)
    if subwords == "character":
        steps = _between(1_500, epoch * 12, 20_000)
    return Advice(
        model=named,
        preset=sized,
        sizes=_quick_sizes(look.lines) if quick else {},
        subwords=subwords,
        size=size,
        tokens=tokens,
        steps=steps,
        warmup=_between(50, steps // 12, 4_000),
        optimizer=optimizer,
        rate=rate,
        validate_every=_between(50, steps // 30, 2_000),
        reasons=tuple(reasons),
    )


def _quick_sizes(lines: int) -> dict[str, float]:
    """A short decoder is soonest good; with few lines, the preset's dropout keeps it from learning them by heart."""
    return {"decoder_layers": 2} | ({"dropout": 0.1} if lines >= 10_000 else {})


def _pieces(subwords: str, size: int) -> str:
    return "characters" if subwords == "character" else f"{size:,} subwords"


def _vocabulary(lines: int) -> int:
    return next(
        (size for size in (1_000, 2_000, 4_000, 8_000) if lines < size * 8), 8_000 if lines < 200_000 else 16_000
    )


def _tokens_per_line(look: Look, subwords: str) -> float:
    return look.characters if subwords == "character" else look.words * 1.3


def _between(low: int, value: int, high: int) -> int:
    return max(low, min(value, high))
