"""What kind of text a corpus is: this decides on tokenizer, model and validation metric.

| kind | what it is | told by |
|---|---|---|
| `sentences` | natural language, also short or without spaces | it is none of the others |
| `commands` | few words that come again and again, as in SCAN | a closed vocabulary on both sides |
| `spelling` | dates, inflections, names, numbers: letters become letters | lines of a word or two, new or copied |
"""

from typing import Literal

from regard.data.statistics import SideStatistics, TextStatistics

Kind = Literal["sentences", "commands", "spelling"]
_SHORT = 60
"""mean characters of a line beyond which single letters are too many, whatever they spell"""


def kind_of(text: TextStatistics) -> tuple[Kind, str]:
    """The kind of a parallel corpus, and the reason in words."""
    if all(side.closed for side in text.sides):
        counts = " and ".join(f"{side.types:,}" for side in text.sides)
        return "commands", f"only {counts} different words, and no new ones to be expected: a closed vocabulary"
    if max(side.characters for side in text.sides) <= _SHORT:
        for name, side in zip(("source", "target"), text.sides, strict=True):
            if _spelled(side):
                what = (
                    f"{_amount(side.words, 'word')} in a line of the {name}, {side.novelty:.0%} of them not seen before"
                )
                return "spelling", f"{what}: what is to be learned is spelling"
        if text.target.words < 3.5 and text.copied > 0.3 and not text.target.closed:
            return (
                "spelling",
                f"{text.copied:.0%} of a target is copied from its source: what is to be learned is spelling",
            )
    words = "–".join(dict.fromkeys(f"{side.words:.0f}" for side in sorted(text.sides, key=lambda side: side.words)))
    unspaced = any(side.unspaced > 0.5 for side in text.sides)
    return "sentences", f"natural sentences of about {words} words" + (", a script without spaces" if unspaced else "")


def _spelled(side: SideStatistics) -> bool:
    """Whether a line is hardly more than one word, or two that are mostly unknown: it is not made of known words."""
    return not side.closed and (side.words < 1.5 or (side.words < 3 and side.novelty > 0.4))


def _amount(count: float, what: str) -> str:
    return f"one {what}" if count < 1.5 else f"{count:.1f} {what}s"
