"""Settings that suit a text: model, tokenizer, batches and training, by its kind and size, each with a reason.

The numbers are smooth in the number of lines, so that a corpus a little larger gets settings a little different. They
were found by training: `benchmarks/advice.py`, and `recipes/README.md` for the optimizers.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regard.base.wording import counted
from regard.data.statistics import TextStatistics
from regard.tasks.text_kinds import Kind, kind_of

_PIECES = 1.35
"""subwords of a mean word"""
_LETTERS = 3.0
"""letters of a mean subword, where there are a thousand of them"""
_KNOWN = 0.1
"""the share of new words below which a side of dates or numbers is read by its words, faster than by its letters"""
_TINY, _MIDDLE, _SMALL = 150_000, 1_000_000, 3_000_000
"""lines below which a Transformer of that size has enough weights"""
_MUON = {("transformer", "tiny"), ("seq2seq", "dates"), ("seq2seq", "small")}
"""small sizes, for which Muon was far ahead of Adam in the same time"""
_DECAY = 0.1
"""weight decay of a small Transformer that reads natural sentences many times; see docs/measured.md"""
_LONGEST = 256
"""tokens that a line may have in any text"""
_USUAL_RATIO = 2.0
"""the limit of decoding strategies, unless it is set"""
_HANDFUL = 20
"""of fewer, none are held out either"""
_FEW = 2_000
_CHRF = 5_000
"""pairs below which BLEU tells little"""
_LITTLE = 100_000
"""tokens of a text below which a narrow recurrent network is ahead of a Transformer in the same time"""
_COPIED = 0.3
"""the share of a target that stands in its source, from which on a model that copies is ahead"""
_TAGGED = 0.5
"""the share of sources with grammatical tags, from which on a table holds inflected forms"""
_INFLECTING: dict[str, Any] = {"encoder_layers": 3}
"""a small Transformer for inflected forms, where one is asked for; see docs/copying.md"""
_HALLUCINATED: Mapping[str, float] = {"transformer": 2.5}
"""how many times as often a table of inflected forms is read, since every second stem is a new one"""
_COPYING: Mapping[str, dict[str, Any]] = {"seq2seq": {"copy.attention": "decoder"}}
"""how a model copies where that is not by the defaults; see docs/copying.md"""
_OWN_SCRIPTS = 0.3
"""the share of common characters below which two languages gain nothing from one vocabulary"""


@dataclass(frozen=True, kw_only=True)
class TextAdvice:
    """Settings for a run, and the reasons."""

    model: str
    preset: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    """settings of the model that differ from the preset's"""
    subwords: str
    size: int
    sharing: str
    tokens: int
    """of a batch"""
    longest: int | None = None
    """the most tokens of a side, far beyond the usual; a batch is as wide as its longest line"""
    steps: int
    warmup: int
    optimizer: str
    rate: float
    validate_every: int
    decay: float = 0.0
    """weight decay"""
    average: int = 5
    """of so many validations in a row the weights are averaged"""
    metric: str
    """the validation metric, where there is something to validate on"""
    reasons: tuple[str, ...]
    metric_reason: str
    tagged: bool = False
    """whether sources have grammatical tags, which are whole tokens, and stems, which are hallucinated"""
    max_ratio: float | None = None
    """the most target tokens for each source token, where the usual limit would cut outputs short"""


def advise(text: TextStatistics, model: str | None = None, preset: str | None = None) -> TextAdvice:
    """The settings for a text; a model or preset that is asked for is taken, and the rest is made to fit it."""
    if len(text.sides) == 1:
        return _language_model(text, model, preset)
    kind, reason = kind_of(text)
    copies = kind == "spelling" and text.copied >= _COPIED
    subwords, size = _subwords(kind, text, copies)
    epoch = (
        text.lines
        * {
            "word": text.target.words,
            "character": text.target.characters,
            "bpe": text.target.words * _PIECES if kind == "sentences" else text.target.characters / _LETTERS,
        }[subwords]
    )
    little = epoch < _LITTLE
    tagged = copies and text.tagged >= _TAGGED
    named = model or ("seq2seq" if little or kind != "sentences" else "transformer")
    sized = preset or _preset(named, (little or kind != "sentences") and not tagged, text.lines)
    joint = copies or (kind == "sentences" and named == "transformer" and text.shared >= _OWN_SCRIPTS)
    optimizer, rate = ("muon", 8e-3) if (named, sized) in _MUON else ("adam", 1e-3)
    tokens = 512 if tagged else 1024 if little or kind != "sentences" else 2048 if text.lines < _TINY else 4096
    often = _epochs(epoch) * (_HALLUCINATED.get(named, 1.3) if tagged else 1)
    steps = _between(300 if kind == "sentences" else 1_500, round(often * epoch / tokens), 100_000)
    metric, why = _metric(kind, text.lines)
    decays = kind == "sentences" and (named, sized) == ("transformer", "tiny")
    pieces = _pieces(subwords, size) + _each(kind, joint, text)
    return TextAdvice(
        model=named,
        preset=sized,
        sizes=_sizes(named, sized, text.lines, epoch, joint)
        | (_INFLECTING if tagged and named == "transformer" else {})
        | (_COPYING.get(named, {"copy": {}}) if copies else {}),
        subwords=subwords,
        size=size,
        sharing="joint" if joint else "separate",
        tokens=tokens,
        longest=_longest(subwords, text),
        steps=steps,
        warmup=100 if tagged else _between(50, steps // 12, 4_000),
        optimizer=optimizer,
        rate=0.006 if tagged and optimizer == "muon" else round(rate * min(1.0, math.sqrt(tokens / 2048)), 4),
        validate_every=_between(50, steps // (12 if tagged else 15 if decays else 25), 2_000),
        decay=_DECAY if decays else 0.0,
        average=3 if decays else 5,
        metric=metric,
        tagged=tagged,
        reasons=(
            reason,
            f"{counted(text.lines, 'pair')}: {_model(named, text.lines, model)}, {pieces}",
            *([f"{text.copied:.0%} of a target stands in its source: letters can be copied"] if copies else []),
            *(["tags in the source: each is one token, and half of the stems are hallucinated"] if tagged else []),
            f"{steps:,} steps of {tokens:,} tokens: the text about {round(steps / max(1.0, epoch / tokens)):,} times",
            *_warning(kind, text.lines),
        ),
        metric_reason=why,
        max_ratio=_max_ratio(kind, text),
    )


def _language_model(text: TextStatistics, model: str | None, preset: str | None) -> TextAdvice:
    """A language model for one side of text."""
    named = model or "gpt"
    sized = preset or {"seq2seq": "small"}.get(named, "tiny")
    size, tokens = _vocabulary(text), 2048
    steps = _between(1_000, round(25 * text.lines * text.source.words * _PIECES / tokens), 100_000)
    chosen = f"a {named}, as you ask for" if model else "a language model"
    return TextAdvice(
        model=named,
        preset=sized,
        subwords="bpe",
        size=size,
        sharing="joint",
        tokens=tokens,
        steps=steps,
        warmup=_between(50, steps // 12, 4_000),
        optimizer="adam",
        rate=1e-3,
        validate_every=_between(50, steps // 25, 2_000),
        metric="loss",
        reasons=(f"one side of text: {chosen}", f"{counted(text.lines, 'line')}: {_pieces('bpe', size)}"),
        metric_reason="the loss decides: how well the text is predicted",
    )


def _preset(model: str, narrow: bool, lines: int) -> str:
    if model == "seq2seq":
        return "dates" if narrow else "small"
    return "tiny" if model != "transformer" or lines < _MIDDLE else "small" if lines < _SMALL else "base"


def _sizes(model: str, preset: str, lines: int, tokens: float, joint: bool) -> dict[str, Any]:
    """A shallow decoder trains fastest; the less text, the more dropout, or it is learned by heart."""
    sizes: dict[str, Any] = {} if joint or model != "transformer" else {"tie": "target"}
    if (model, preset) not in _MUON:
        return sizes
    shallow: dict[str, Any] = {"decoder_layers": 2} if model == "transformer" else {}
    wide: dict[str, Any] = {"width": 256, "feedforward": 1024} if shallow and lines >= _TINY else {}
    dropout = min(0.3, max(0.1, 0.3 - 0.1 * math.log10(tokens / 45_000)))
    return {**shallow, **wide, "dropout": round(dropout, 2), **sizes}


def _subwords(kind: Kind, text: TextStatistics, copies: bool) -> tuple[str, int]:
    """The tokenizer and the size of its vocabulary."""
    if kind == "spelling":
        known = not copies and any(side.words >= 1.5 and side.novelty < _KNOWN for side in text.sides)
        return ("bpe", 1_000) if known else ("character", 2_000)
    return ("word", 2_000) if kind == "commands" else ("bpe", _vocabulary(text))


def _vocabulary(text: TextStatistics) -> int:
    """30 √lines, but twice as many as there are common letters, so that in Chinese, too, some are words.

    Where no spaces end a word, subwords run on into the next one and come back less often: fewer are learned better.
    """
    letters = max(side.alphabet for side in text.sides)
    pieces = 18 if any(side.unspaced >= 0.5 for side in text.sides) else 30
    wanted = _between(300, max(round(pieces * math.sqrt(text.lines)), 2 * letters + 100), 32_000)
    unit = 10 ** (len(str(wanted)) - 2)
    return round(wanted / unit) * unit


def _longest(subwords: str, text: TextStatistics) -> int:
    """Eight times as many tokens as 95 % of the lines have at most: what is longer is hardly a sentence."""
    usual: list[float] = {
        "word": [float(side.most_words) for side in text.sides],
        "character": [float(side.most_characters) for side in text.sides],
        "bpe": [max(side.most_words * _PIECES, side.most_characters / _LETTERS) for side in text.sides],
    }[subwords]
    return max(_LONGEST, 8 * round(max(usual)))


def _epochs(tokens: float) -> float:
    """Less text is read more often: 18 times where it has 430,000 tokens, twice as often where it has a quarter."""
    return max(8.0, min(150.0, 18 * math.sqrt(430_000 / tokens)))


def _warning(kind: Kind, lines: int) -> list[str]:
    """What to expect of very little text."""
    if lines < _HANDFUL:
        return [
            f"{counted(lines, 'pair is', 'pairs are')} learned by heart, and others are not translated; give hundreds"
        ]
    few, told = kind == "sentences" and lines < _FEW, counted(lines, "pair teaches", "pairs teach")
    return [f"{told} words rather than sentences; useful translators begin at about 10,000"] if few else []


def _max_ratio(kind: Kind, text: TextStatistics) -> float | None:
    """Numbers in words are far longer than in digits; translations of sentences stay within the usual limit."""
    stretch = {"commands": text.stretch_words, "spelling": text.stretch_characters}.get(kind, 0.0)
    return float(math.ceil(1.25 * stretch)) if 1.25 * stretch > _USUAL_RATIO else None


def _metric(kind: Kind, lines: int) -> tuple[str, str]:
    """The validation metric, and why this one."""
    if kind != "sentences":
        return "exact", "exact match decides, since every letter or word counts"
    if lines < _CHRF:
        return "chrf", "chrF decides, since BLEU hardly leaves 0 with so little text"
    return "bleu", "BLEU decides, the usual metric of translations"


def _model(model: str, lines: int, asked: str | None) -> str:
    size = "" if lines < _TINY else "larger "
    known = {"transformer": f"a {size}Transformer", "seq2seq": "a recurrent network with attention"}
    return known.get(model, model) + (", as you ask for" if asked else "")


def _each(kind: Kind, joint: bool, text: TextStatistics) -> str:
    if kind != "sentences" or joint:
        return ""
    why = f", since they share {text.shared:.0%} of their characters" if text.shared < _OWN_SCRIPTS else ""
    return f" for each side{why}"


def _pieces(subwords: str, size: int) -> str:
    return {"character": "characters", "word": "whole words"}.get(subwords, f"{size:,} subwords")


def _between(low: int, value: int, high: int) -> int:
    return max(low, min(value, high))
