"""A segment's translation with its tags and placeholders."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regard.data.links import Link
from regard.data.word_spans import Span
from regard.decoding.translation import Translation
from regard.markup.bonds import bond, usable_links
from regard.markup.placeholders import Kept
from regard.markup.projection import Placement, project
from regard.markup.segments import Segment, SegmentText
from regard.markup.units import split_units, word_starts

_SPACE = re.compile(r"\s*")
_HEAD = re.compile(r"(?:[^\w\s]+(?!\S))?")
SENTENCE_END = re.compile(r"[\s.!?…。！？]*[.!?…。！？]\s*\Z")
_TAIL = re.compile(r"(?:(?<!\S)[^\w\s]+)?\Z")


@dataclass(frozen=True)
class Rendering:
    """A translation of a segment: the text, the positions of its atoms, and the word links."""

    reading: SegmentText
    text: str
    atoms: tuple[Span, ...]
    links: tuple[Link, ...]
    score: float = 0.0
    origin: Translation | None = None
    """the translation that this was made from, unless several were joined"""

    def spaced(self) -> "Rendering":
        """The same with the source's leading and trailing white space."""
        text = spaced_like(self.reading.text, self.text)
        shift = len(_SPACE.match(text)[0]) - len(_SPACE.match(self.text)[0])  # type: ignore[index]
        atoms = tuple((start + shift, end + shift) for start, end in self.atoms)
        return Rendering(self.reading, text, atoms, self.links, self.score, self.origin)

    def placements(self) -> Sequence[Placement]:
        """The positions of the segment's marks in the translation."""
        if not self.reading.marks:
            return []
        source = split_units(self.reading.text, self.reading.atoms, (at for at, _ in self.reading.marks))
        target, bonds = bond(list(self.links), source, self.text, self.atoms)
        return project(self.reading, source, target, bonds)

    def with_atoms(self, written: Sequence[str]) -> str:
        """The text with each atom replaced by what is written for it."""
        text = self.text
        for (start, end), one in sorted(zip(self.atoms, written, strict=True), reverse=True):
            text = text[:start] + one + text[end:]
        return text


def accepted(reading: SegmentText, answer: Translation, wanted: list[str], kept: Kept) -> Rendering | None:
    """The translation, if it has every wanted text exactly as often as the source; else None."""
    places = kept.locate(wanted, answer.text) if wanted else []
    if places is None:
        return None
    links = usable_links(answer.alignment, reading.text, answer.text)
    return Rendering(reading, answer.text, tuple(places), tuple(links), answer.score, answer)


class TextPiece(NamedTuple):
    """A text between two atoms: the part to translate, and the punctuation at its ends that belongs to the atoms."""

    head: str
    body: str
    tail: str

    @property
    def speaks(self) -> bool:
        """Whether it has something to translate."""
        return re.search(r"\w", self.body) is not None


def pieces(segment: Segment) -> list[TextPiece]:
    """The texts before, between and after the atoms of a segment."""
    reading = segment.read()
    ends = [0, *(end for _, end in reading.atoms)]
    starts = [*(start for start, _ in reading.atoms), len(reading.text)]
    found = []
    for end, start in zip(ends, starts, strict=True):
        text = reading.text[end:start]
        head = _HEAD.match(text)[0] if end else ""  # type: ignore[index]
        tail = _TAIL.search(text, len(head))[0] if start < len(reading.text) else ""  # type: ignore[index]
        found.append(TextPiece(head, text[len(head) : len(text) - len(tail)], tail))
    return found


def in_pieces(segment: Segment, answers: Sequence[Translation], kept: Kept) -> Rendering:
    """The translated pieces with the atoms between them; pieces without a word stay as they are."""
    found = _join(segment, answers, kept, "")
    wanted = [atom.text for atom in segment.atoms]
    merged = kept.locate(wanted, segment.read().text) is not None and kept.locate(wanted, found.text) is None
    return _join(segment, answers, kept, " ") if merged else found


@dataclass
class _Joined:
    """A builder of joined texts, source and translation, with links between their letters."""

    source: str = ""
    target: str = ""
    links: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, source: str, target: str, links: Sequence[Link]) -> None:
        here, there = word_starts(source), word_starts(target)
        before, so_far = len(self.source), len(self.target)
        self.links += [(before + here[one], so_far + there[other], sure) for one, other, sure in links]
        self.source, self.target = self.source + source, self.target + target

    def copy(self, text: str) -> None:
        self.add(text, text, [Link(at, at) for at in range(len(word_starts(text)))])


def _join(segment: Segment, answers: Sequence[Translation], kept: Kept, gap: str) -> Rendering:
    reading = segment.read()
    coming = iter(answers)
    joined, atoms = _Joined(), []
    for number, piece in enumerate(pieces(segment)):
        joined.copy(piece.head)
        if piece.speaks:
            last = number == len(reading.atoms)
            joined.add(piece.body, *_translated(piece, next(coming), kept, last))
        else:
            joined.copy(piece.body)
        joined.copy(piece.tail)
        if number < len(reading.atoms):
            joined.target += gap
            start = len(joined.target)
            joined.copy(reading.text[slice(*reading.atoms[number])])
            atoms.append((start, len(joined.target)))
            joined.target += gap
    score = sum(answer.score for answer in answers)
    return Rendering(reading, joined.target, tuple(atoms), by_word(joined.links, joined.source, joined.target), score)


def _translated(piece: TextPiece, answer: Translation, kept: Kept, last: bool) -> tuple[str, list[Link]]:
    """A piece's translation without placeholders, and without sentence-final punctuation where the source has none."""
    own = kept.without(answer.text)
    links = answer.alignment if own.split() == answer.text.split() else None
    ends = last or SENTENCE_END.search(piece.body)
    text = spaced_like(piece.body, own if ends else SENTENCE_END.sub("", own))
    return text, usable_links(links, piece.body, text)


def spaced_like(text: str, translated: str) -> str:
    """The translation with the leading and trailing white space of a text."""
    start = len(text) - len(text.lstrip())
    return text[:start] + translated.strip() + text[max(len(text.rstrip()), start) :]


def by_word(letters: Sequence[tuple[int, int, float]], source: str, target: str) -> tuple[Link, ...]:
    """Word links from links between letters."""
    here, there = word_starts(source), word_starts(target)
    found = {(bisect_right(here, one) - 1, bisect_right(there, other) - 1): sure for one, other, sure in letters}
    return tuple(Link(one, other, sure) for (one, other), sure in found.items())
