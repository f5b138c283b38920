"""Placeholders inserted into the translation of the text without them, beside the words that were their neighbors."""

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate

from regard.data.word_spans import Span
from regard.decoding.translation import Translation
from regard.markup.bonds import bond, usable_links
from regard.markup.placeholders import Kept
from regard.markup.projection import Placement, project
from regard.markup.rendering import SENTENCE_END, Rendering, by_word
from regard.markup.segments import Atom, Mark, Segment, SegmentText
from regard.markup.units import split_units, word_starts


def without_atoms(segment: Segment) -> SegmentText:
    """The segment as one text without its atoms; in place of each stands a mark with its number."""
    items = [item for item in segment.items if not isinstance(item, Mark)]
    numbers = iter(range(len(items)))
    return Segment(tuple(Mark(str(next(numbers)), "single") if isinstance(one, Atom) else one for one in items)).read()


def inserted(segment: Segment, answer: Translation, kept: Kept) -> Rendering | None:
    """The translation of the text without atoms, with the atoms inserted; None if there is no alignment."""
    reading, bare = segment.read(), without_atoms(segment)
    signs = [kept.is_sign(atom.text) for atom in segment.atoms]
    answer = _without_end(bare, reading, answer)
    links = usable_links(answer.alignment, bare.text, answer.text)
    if not answer.alignment or not links:
        return None
    placed = replace(bare, marks=_after_words(bare, signs))
    source = split_units(bare.text, cuts=[at for at, _ in placed.marks])
    target, bonds = bond(links, source, answer.text, ())
    places = project(placed, source, target, bonds)
    text, atoms, longer = _insert(reading, answer.text, list(places))
    if kept.locate([atom.text for atom in segment.atoms], text) is None:
        return None
    left_out = [(at, end - start) for (at, _), (start, end) in zip(bare.marks, reading.atoms, strict=True)]
    here, there = _shifted(word_starts(bare.text), left_out), _shifted(word_starts(answer.text), longer)
    letters = [(here[one], there[other], sure) for one, other, sure in links]
    for (start, end), (first, _) in zip(reading.atoms, atoms, strict=True):
        letters += [(start + at, first + at, 1.0) for at in word_starts(reading.text[start:end])]
    return Rendering(reading, text, tuple(atoms), by_word(letters, reading.text, text), answer.score)


def _without_end(bare: SegmentText, reading: SegmentText, answer: Translation) -> Translation:
    """The answer without the full stop that a model added where an atom such as `!` ends the sentence."""
    if SENTENCE_END.search(reading.text) and not SENTENCE_END.search(bare.text):
        return replace(answer, text=SENTENCE_END.sub("", answer.text))
    return answer


def _after_words(bare: SegmentText, signs: list[bool]) -> tuple[Placement, ...]:
    """The marks, those of signs between two spaces right after the word before them, which they comment on."""
    found: list[Placement] = []
    for (at, mark), sign in zip(bare.marks, signs, strict=True):
        free = sign and not bare.text[at : at + 1].strip()
        back = len(bare.text[:at].rstrip()) if free else at
        found.append((max(back, found[-1][0]) if found else back, mark))
    return tuple(found)


def _insert(reading: SegmentText, text: str, places: list[Placement]) -> tuple[str, list[Span], list[tuple[int, int]]]:
    """The text with an atom inserted at every place, the atoms' positions, and how much the text grew at each place.

    An atom is separated from its neighbors by a space if it was in the source.
    """
    written, at = "", 0
    atoms = [(0, 0)] * len(places)
    longer = []
    for place, mark in places:
        start, end = reading.atoms[int(mark.written)]
        written, at = written + text[at:place], place
        before = len(written)
        if reading.text[:start][-1:].isspace() and not written[-1:].isspace():
            written += " " if written else ""
        atoms[int(mark.written)] = (len(written), len(written) + end - start)
        written += reading.text[start:end]
        if reading.text[end : end + 1].isspace() and text[place : place + 1].strip():
            written += " "
        longer.append((place, len(written) - before))
    return written + text[at:], atoms, longer


def _shifted(letters: list[int], longer: list[tuple[int, int]]) -> list[int]:
    """The positions of letters after the insertions."""
    sums = [0, *accumulate(more for _, more in longer)]
    places = [place for place, _ in longer]
    return [at + sums[bisect_right(places, at)] for at in letters]
