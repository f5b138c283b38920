"""Placeholders that a translation must copy exactly: `{name}`, `%s`, addresses and, on request, numbers.

Characters that the model cannot read are kept in the same way, if it is said which (`Unreadable`).
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from regard.base.errors import UsageError, unknown
from regard.data.word_spans import Span
from regard.markup.unreadable import Unreadable, is_sign

_ADDRESS = r"[^\s<>\"\u3000-\u30ff\u3400-\u9fff\uac00-\ud7ff\uff00-\uffef]"
_LAST = r"[^\s<>\".,;:!?()\[\]{}'*”’»\u3000-\u30ff\u3400-\u9fff\uac00-\ud7ff\uff00-\uffef]"
_LETTER = r"[0-9A-Za-z\u00aa-\u0dff]"  # of scripts that put spaces between words
_INNER = r"\{[^{}\n]*+\}"
_MIDDLE = rf"\{{(?:[^{{}}\n]|{_INNER})*+\}}"
_PRINTF = r"[-+#0]*+(?:\d++|\*)?(?:\.(?:\d++|\*))?(?:hh|ll|[hlLzjt])?[diouxXeEfFgGcrs@]"
KINDS = {
    "url": rf"(?:https?|ftp)://(?:{_ADDRESS}*\{{\w*\}}(?![\w/?&=#-])|{_ADDRESS}*{_LAST})"
    rf"|\bwww\.[\w-]+(?:\.[\w-]+)+(?:/{_ADDRESS}*{_LAST})?/?",
    "email": r"[\w.+-]{1,64}+@[\w-]+(?:\.[\w-]+)+",
    "braces": rf"\{{\{{\{{[^{{}}]*+\}}\}}\}}|\{{%[^{{}}\n]*?%\}}|[$#%]?\{{(?:[^{{}}\n]|{_MIDDLE})++\}}|\{{\}}",
    "percent": rf"%(?:\d++\$|\(\w++\)){_PRINTF}|(?<![\d%])%{_PRINTF}|%%",
    "number": r"\d++(?:[.,:/’'\-–\u00a0\u202f]\d++)*+",
}
"""a pattern for each kind; where several fit, the one named first wins"""
ALWAYS = ("url", "email", "braces", "percent")


@dataclass(frozen=True)
class Kept:
    """Which kinds of placeholders are copied exactly.

    Numbers are left to the model unless named: dates and amounts are written differently in another language.
    """

    kinds: tuple[str, ...] = ALWAYS
    unreadable: Unreadable | None = None
    """finds the characters that the model cannot read"""

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise UsageError(unknown("kept", kind, KINDS, "placeholders"))

    def find(self, text: str, literals: Sequence[str] = ()) -> list[Span]:
        """The spans of the placeholders in a text."""
        found = self._matches(text)
        if self.unreadable is None:
            return found
        apart = [
            one for one in self.unreadable.find(text) if all(one[1] <= start or end <= one[0] for start, end in found)
        ]
        return sorted([*found, *apart])

    def is_sign(self, text: str) -> bool:
        """Whether a kept text is no word of a sentence but a sign beside them, such as an emoji."""
        return is_sign(text) and not self._matches(text)

    def locate(self, wanted: Sequence[str], text: str) -> list[Span] | None:
        """The span of each wanted text, equal ones in order; None unless each occurs exactly as often as wanted."""
        spans = self._matches(text, wanted)
        found = [text[start:end] for start, end in spans]
        if Counter(found) != Counter(wanted):
            return None
        places: dict[str, Iterator[Span]] = {
            one: iter([span for span, other in zip(spans, found, strict=True) if other == one]) for one in wanted
        }
        return [next(places[one]) for one in wanted]

    def without(self, text: str) -> str:
        """The text without placeholders; numbers stay, since a model may write `two` as `2`."""
        pattern = _compiled((), tuple(kind for kind in self._named if kind != "number"))
        while pattern and pattern.search(text):
            text = " ".join(pattern.sub(" ", text).split())
        return text

    def _matches(self, text: str, literals: Sequence[str] = ()) -> list[Span]:
        """The spans of what is kept wherever it stands, and of further texts."""
        pattern = _compiled(tuple(sorted(set(literals), key=len, reverse=True)), self._named)
        return [match.span() for match in pattern.finditer(text) if match.group()] if pattern else []

    @cached_property
    def _named(self) -> tuple[str, ...]:
        return tuple(kind for kind in KINDS if kind in self.kinds)


def stand_ins(count: int, text: str) -> list[str]:
    """Words to stand for `count` placeholders: models tend to copy them, and the text does not have them.

    They are two-digit numbers: a model that never saw a placeholder copied these most reliably.
    """
    names = map(str, range(11, 12 + count + len(text)))
    return list(islice((name for name in names if name not in text), count))


@lru_cache(maxsize=256)
def _compiled(literals: tuple[str, ...], kinds: tuple[str, ...]) -> re.Pattern[str] | None:
    exact = [_whole(one) for one in literals]
    patterns = [*exact, *(KINDS[kind] for kind in kinds)]
    return re.compile("|".join(f"(?:{one})" for one in patterns)) if patterns else None


def _whole(literal: str) -> str:
    """A pattern for a text that is no part of a longer word; signs are no part of any."""
    if is_sign(literal):
        return re.escape(literal)
    return rf"(?<!{_LETTER}){re.escape(literal)}(?!{_LETTER})"
