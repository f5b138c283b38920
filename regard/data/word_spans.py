"""The words of a text that alignments link, and where they stand.

White space separates words. Punctuation at the ends of a word is a word of its own, each mark by itself, equal ones in
a row together: `"Stop...", he` is `" Stop ... " , he`; inside a word it stays (`don't`, `3.14`, `2001-05-03`). Text of
scripts without spaces (Chinese, Japanese, Thai, Khmer, Lao, Burmese) is segmented by ICU, by Unicode's rules (UAX 29,
https://unicode.org/reports/tr29) and dictionaries.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from icu4py.breakers import WordBreaker

from regard.data.subwords.tokenizer import UNSPACED

Span = tuple[int, int]

SPACED_WORD = re.compile(r"[^\s▁]+")
"""what `regard.data.subwords.tokenizer.words` counts"""
_JOINS = frozenset("\u200d\ufe0e\ufe0f\u20e3" + "".join(map(chr, range(0x1F3FB, 0x1F400))))
_FLAGS = ("\U0001f1e6", "\U0001f1ff")


def word_spans(text: str) -> list[Span]:
    """Start and end of each word."""
    return [span for match in SPACED_WORD.finditer(text) for span in _spans(text, *match.span())]


def words_of(text: str) -> list[str]:
    """The words of a text."""
    return [text[start:end] for start, end in word_spans(text)]


def is_spaced(texts: Iterable[str]) -> bool:
    """Whether white space separates words: no text of a script without spaces, or one that was segmented already."""
    runs = segments = 0
    for text in texts:
        for match in SPACED_WORD.finditer(text):
            if UNSPACED.search(match[0]):
                runs += 1
                segments += sum(not _is_mark(text[start]) for start, _ in _spans(text, *match.span()))
    return segments <= 2 * runs


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    """The words between two white spaces."""
    if not UNSPACED.search(text, start, end):
        yield from _spaced(text, start, end)
        return
    places = {start, end}
    kinds = [UNSPACED.match(one) is not None or unicodedata.category(one)[0] == "M" for one in text[start:end]]
    places |= {start + at for at, (one, other) in enumerate(pairwise(kinds), start=1) if one is not other}
    for first, last in pairwise(sorted(places)):
        if kinds[first - start]:
            yield from ((first + one, first + other) for one, other in _segments(text[first:last]))
        else:
            yield from _spaced(text, first, last)


def _segments(text: str) -> Iterator[Span]:
    """The words of a text without spaces. ICU counts in UTF-16, where rare characters count twice."""
    places = {0: 0}
    at = 0
    for number, letter in enumerate(text, start=1):
        at += 2 if letter > "\uffff" else 1
        places[at] = number
    for start, end in WordBreaker(text, "und").segments():
        yield places[start], places[end]


def _spaced(text: str, start: int, end: int) -> Iterator[Span]:
    """The punctuation before a word, the word, and the punctuation after it."""
    first, last = start, end
    while first < last and _is_mark(text[first]):
        first += 1
    while last > first and _is_mark(text[last - 1]):
        last -= 1
    yield from _marks(text, start, first)
    if first < last:
        yield first, last
    yield from _marks(text, last, end)


def _is_mark(letter: str) -> bool:
    """Whether a character is punctuation or a symbol, or joins such."""
    return unicodedata.category(letter)[0] in "PS" or letter in _JOINS


def _marks(text: str, start: int, end: int) -> Iterator[Span]:
    """Each mark by itself, equal ones in a row together; combined characters, such as 👍🏽, stay whole."""
    begin, flag = start, False
    for at in range(start + 1, end):
        before, here = text[at - 1], text[at]
        pair = not flag and _FLAGS[0] <= before <= _FLAGS[1] and _FLAGS[0] <= here <= _FLAGS[1]
        flag = pair
        if not (pair or before == here or here in _JOINS or before == "\u200d"):
            yield begin, at
            begin = at
    if begin < end:
        yield begin, end
