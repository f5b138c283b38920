"""Words split where tags may stand: leading punctuation, core, trailing punctuation; and atoms."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from jaxtyping import Float, Int
from numpy import ndarray

from regard.data.word_spans import Span, word_spans

UnitKind = Literal["lead", "core", "trail", "alone", "atom"]
Bonds = tuple[Int[ndarray, " bonds"], Int[ndarray, " bonds"], Float[ndarray, " bonds"]]
"""links between units: source unit, target unit, confidence"""


_CORE = re.compile(r"[^\W_]")
_GOES_ON = frozenset("\u200d\ufe0e\ufe0f\u20e3" + "".join(map(chr, range(0x1F3FB, 0x1F400))))


class Unit(NamedTuple):
    """Letters [start, end) of a text: a part of the word of that number or, of kind `atom`, the atom of that number."""

    start: int
    end: int
    kind: UnitKind
    number: int


@dataclass(frozen=True)
class Units:
    """The units of a text in order; all that is between them is white space."""

    text: str
    units: tuple[Unit, ...]

    def __len__(self) -> int:
        return len(self.units)

    @cached_property
    def _starts(self) -> list[int]:
        return [unit.start for unit in self.units]

    def before(self, at: int) -> int:
        """The number of units that start before a position."""
        return bisect_left(self._starts, at)

    def space(self, number: int, at: int) -> tuple[int, int]:
        """The amount of white space from a position back to the previous unit, and on to the unit of that number."""
        return at - self._end(number), self._start(number) - at

    def after(self, number: int, space: int) -> int:
        """The position `space` letters after the unit before `number`, within the white space there."""
        return min(self._end(number) + space, self._start(number))

    def ahead(self, number: int, space: int) -> int:
        """The position `space` letters before the unit `number`, within the white space there."""
        return max(self._start(number) - space, self._end(number))

    def _start(self, number: int) -> int:
        return self.units[number].start if number < len(self.units) else len(self.text)

    def _end(self, number: int) -> int:
        return self.units[number - 1].end if number else 0

    def of_words(self) -> dict[int, list[int]]:
        """The indices of each word's units, by word number, without atoms."""
        found: dict[int, list[int]] = {}
        for number, unit in enumerate(self.units):
            if unit.kind != "atom":
                found.setdefault(unit.number, []).append(number)
        return found


def word_starts(text: str) -> list[int]:
    """The start positions of the words of a text."""
    return [start for start, _ in word_spans(text)]


def split_units(text: str, atoms: Sequence[tuple[int, int]] = (), cuts: Iterable[int] = ()) -> Units:
    """The units of a text that has atoms at these spans, also split at those `cuts` that are inside a unit."""
    words = word_spans(text)
    order = sorted(range(len(atoms)), key=lambda number: atoms[number])
    units: list[Unit] = []
    at = 0
    for number in order:
        start, end = atoms[number]
        units += _between(text, at, start, words)
        units.append(Unit(start, end, "atom", number))
        at = end
    units += _between(text, at, len(text), words)
    places = sorted(set(cuts))
    return Units(text, tuple(piece for unit in units for piece in _cut(unit, places)))


def _between(text: str, start: int, end: int, words: list[Span]) -> list[Unit]:
    """The units of the words, or parts of words, between two atoms."""
    if start >= end:
        return []
    from_here = bisect_right(words, start, key=_end)
    inside = [
        (max(first, start), min(last, end), number)
        for number, (first, last) in enumerate(words[from_here : bisect_left(words, end, key=_start)], from_here)
    ]
    spoken = [_CORE.search(text, first, last) is not None for first, last, _ in inside]
    units: list[Unit] = []
    for at, (first, last, number) in enumerate(inside):
        units.append(Unit(first, last, "core" if spoken[at] else _kind(text, inside, spoken, at, start, end), number))
    return units


def _kind(text: str, inside: list[tuple[int, int, int]], spoken: list[bool], at: int, start: int, end: int) -> UnitKind:
    """Whether punctuation follows a word or an atom without a space, or precedes one, or stands alone."""
    before = at
    while before > 0 and inside[before][0] == inside[before - 1][1]:
        before -= 1
        if spoken[before]:
            return "trail"
    if inside[before][0] == start > 0:
        return "trail"
    after = at
    while after < len(inside) - 1 and inside[after][1] == inside[after + 1][0]:
        after += 1
        if spoken[after]:
            return "lead"
    return "lead" if inside[after][1] == end < len(text) else "alone"


def _start(span: Span) -> int:
    return span[0]


def _end(span: Span) -> int:
    return span[1]


def _cut(unit: Unit, cuts: list[int]) -> list[Unit]:
    if unit.kind == "atom":
        return [unit]
    inner = cuts[bisect_right(cuts, unit.start) : bisect_left(cuts, unit.end)]
    places = [unit.start, *inner, unit.end]
    return [unit._replace(start=start, end=end) for start, end in pairwise(places)]


def snap(text: str, at: int) -> int:
    """The nearest position at or before `at` that is not inside a combined character, such as é or 👍🏽."""
    while 0 < at < len(text) and (_continues(text[at]) or text[at - 1] == "\u200d" or _inside_flag(text, at)):
        at -= 1
    return at


def _continues(letter: str) -> bool:
    return letter in _GOES_ON or unicodedata.category(letter).startswith("M")


def _inside_flag(text: str, at: int) -> bool:
    """Whether `at` splits a flag, which is a pair of regional indicators."""
    run = 0
    while run < at and "\U0001f1e6" <= text[at - run - 1] <= "\U0001f1ff":
        run += 1
    return run % 2 == 1 and "\U0001f1e6" <= text[at] <= "\U0001f1ff"
