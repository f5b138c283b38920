"""Recommended settings for a text: a run.toml with reasons in words, from statistics of its lines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError, UsageError
from regard.data.corpus import Corpus, Counts, open_corpus
from regard.data.subwords.tokenizer import UNSPACED
from regard.tasks.task import Advice, Wishes

_LOOKED_AT = 100_000

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
{reasons}
name = {name}
task = "{task}"

[data]
train = {train}
{dev}{languages}
[subwords]
kind = "{subwords}"            # bpe, unigram, word or character
size = {size}
sharing = "{sharing}"          # one vocabulary for both languages, or separate ones

{batches}

[model]
name = "{model}"
preset = "{preset}"            # any of its settings can be set here too, such as dropout = 0.2
{sizes}
[training]
steps = {steps}
patience = 10                  # early stopping after this many validations without improvement
validate_every = {validate_every}
checkpoint_every = {validate_every}
metric = "{metric}"            # the validation metric that decides: early stopping, best checkpoint
average = 5                    # average the best checkpoint and its neighbors, if that is no worse

[training.optimizer]
name = "{optimizer}"                  # adam, or muon, which needs fewer steps
learning_rate = {rate}

[training.schedule]
name = "cosine"                # learning-rate schedule: warm-up, then down to 0 at the last step
warmup = {warmup}
{decoding}"""

_BATCHES = """[batches]
tokens = {tokens}                  # per batch, padding included
"""
_DECODING = """
[decoding]
name = "beam"
size = 5
"""
_PATIENCE = "patience = 10.0                # of beam search: short wrong outputs end first and must not end it\n"


@dataclass(frozen=True)
class Look:
    """Statistics of a corpus."""

    lines: int
    sides: int
    words: float
    """mean per line over all sides; without spaces, two letters count as a word"""
    characters: float


@dataclass(frozen=True)
class TextAdvice:
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


def advise_text(files: Sequence[Path], wishes: Wishes, sides: int) -> Advice | None:
    """A run.toml for parallel text or for a language model; None if the files have another number of sides."""
    if not 1 <= len(files) <= 2:
        return None
    corpus = open_corpus(*files)
    if corpus.sides != sides:
        return None
    look = look_at(corpus)
    if wishes.dev:
        held_out = look_at(open_corpus(*wishes.dev, blanks="error" if sides == 2 else "skip")).sides
        if held_out != sides:
            raise UsageError(f"--dev: must have as many sides as the training text ({sides}), but has {held_out}")
    advice = advise(look, wishes.model, wishes.preset)
    codes = [language_of(file) for file in files] if len(files) == 2 else []
    named = wishes.name or ("-".join(code for code in codes if code) or files[0].name.split(".")[0] or "run")
    characters, scored = advice.subwords == "character", bool(wishes.dev) and sides == 2
    text = _TEMPLATE.format(
        out=wishes.out,
        task="translate" if sides == 2 else "language",
        reasons="\n".join(f"# {reason}" for reason in advice.reasons),
        name=_quoted(named),
        train=_paths(files, wishes.out),
        dev=f"dev = {_paths(wishes.dev, wishes.out)}\n" if wishes.dev else "",
        languages=_languages(codes),
        batches=_BATCHES.format(tokens=advice.tokens) if sides == 2 else "",
        sharing="separate" if characters and advice.model == "seq2seq" else "joint",
        metric=("exact" if characters else "bleu") if scored else "loss",
        decoding=(_DECODING + _PATIENCE * characters) if sides == 2 else "",
        sizes="".join(f"{key} = {value}\n" for key, value in advice.sizes.items()),
        **{key: value for key, value in vars(advice).items() if key not in ("reasons", "sizes", "tokens")},
    )
    counted = f"{look.lines:,} lines, {look.words:.1f} words each"
    return Advice(text, (counted, *advice.reasons))


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


def advise(look: Look, model: str | None, preset: str | None) -> TextAdvice:
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
    return TextAdvice(
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
    """A shallow decoder trains fastest; with few lines, the preset's dropout prevents overfitting."""
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


def _paths(files: Sequence[Path], out: Path) -> str:
    """The files as run.toml lists them, relative to its own folder."""
    places = [file.resolve() for file in files]
    home = out.resolve().parent
    shown = [place.relative_to(home) if place.is_relative_to(home) else place for place in places]
    return "[" + ", ".join(_quoted(str(place)) for place in shown) + "]"


def _languages(codes: list[Any]) -> str:
    if len(codes) != 2 or not all(codes):
        return ""
    return f"source = {_quoted(codes[0])}\ntarget = {_quoted(codes[1])}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def language_of(file: Path) -> str | None:
    """`train.de`, `train.lc.de.gz` and `corpus.de.txt` are German; None where the name does not say."""
    parts = [part for part in file.name.split(".")[1:] if part not in ("gz", "txt", "text", "tok", "tsv", "jsonl")]
    last = parts[-1] if parts else ""
    code, _, region = last.replace("-", "_").partition("_")
    plausible = 2 <= len(code) <= 3 and code.isalpha() and (not region or region.isalnum())
    return last if plausible else None
