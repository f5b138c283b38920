"""Word links refined to links between parts of words, so that a tag around `dog` in `dog,` leaves the comma out."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from regard.data.links import Link
from regard.data.subwords.tokenizer import UNSPACED
from regard.data.word_spans import word_spans
from regard.markup.units import Bonds, UnitKind, Units, snap, split_units

_ALIKE: dict[UnitKind, tuple[UnitKind, ...]] = {
    "lead": ("lead", "alone"),
    "core": ("core",),
    "trail": ("trail", "alone"),
    "alone": ("alone", "lead", "trail"),
}


def usable_links(links: Sequence[Link] | None, source: str, target: str) -> list[Link]:
    """The links between existing words of both texts; if there are none, links by relative position."""
    here, there = len(word_spans(source)), len(word_spans(target))
    found = [
        Link(one.source, one.target, max(one.confidence, 1e-6))
        for one in links or ()
        if 0 <= one.source < here and 0 <= one.target < there
    ]
    if found or not here or not there:
        return found
    diagonal = [(at, (2 * at + 1) * min(here, there) // (2 * max(here, there))) for at in range(max(here, there))]
    return [Link(one, other) if here >= there else Link(other, one) for one, other in diagonal]


def bond(links: list[Link], source: Units, target: str, atoms: Sequence[tuple[int, int]]) -> tuple[Units, Bonds]:
    """The units of the target, split where source units are, and their bonds: links between units.

    Parts of words are linked to parts of the same kind. Where a tag splits a word, and where a text without spaces
    translates several words, the linked letters are divided in proportion. An atom is linked to itself alone.
    """
    whole = split_units(target, atoms)
    cuts = [*_cuts_as_in_source(links, source, whole), *_cuts_between_words(links, source, whole)]
    units = split_units(target, atoms, cuts)
    found: list[tuple[int, int, float]] = []
    in_target = {unit.number: at for at, unit in enumerate(units.units) if unit.kind == "atom"}
    for at, unit in enumerate(source.units):
        if unit.kind == "atom" and unit.number in in_target:
            found.append((at, in_target[unit.number], 1.0))
    for here, there, confidence in _groups(links, source, units):
        found += _overlaps(source, here, units, there, confidence)
    table = np.array(found, float).reshape(-1, 3)
    return units, (table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2])


def _groups(links: list[Link], source: Units, target: Units) -> list[tuple[list[int], list[int], float]]:
    """Source units and the target units that translate them, each in order."""
    here, there = source.of_words(), target.of_words()
    shares = _shares(links, source, target)
    found: dict[tuple[int, UnitKind], list[int]] = defaultdict(list)
    sure: dict[tuple[int, UnitKind], float] = defaultdict(float)
    loose: list[tuple[list[int], list[int], float]] = []
    for one, other, confidence in sorted(links):
        kinds = dict.fromkeys(source.units[at].kind for at in here.get(one, []))
        matched = False
        for kind in kinds:
            fits = [at for at in there.get(other, []) if target.units[at].kind in _ALIKE[kind]]
            fits = [at for at in fits if kind != "core" or at in shares.get((one, other), fits)]
            found[one, kind] += [at for at in fits if at not in found[one, kind]]
            sure[one, kind] = max(sure[one, kind], confidence)
            matched = matched or bool(fits)
        if not matched and one in here and other in there:
            loose.append((here[one], there[other], confidence))
    tight = [
        ([at for at in here[one] if source.units[at].kind == kind], fits, sure[one, kind])
        for (one, kind), fits in found.items()
    ]
    return [group for group in tight if group[1]] + loose


def _overlaps(
    source: Units, here: list[int], target: Units, there: list[int], confidence: float
) -> list[tuple[int, int, float]]:
    """Bonds between units by how far they overlap when both sides are laid out from 0 to 1."""
    ours, theirs = _laid_out(source, here), _laid_out(target, there)
    found = []
    for one, (start, end) in zip(here, ours, strict=True):
        for other, (begin, stop) in zip(there, theirs, strict=True):
            overlap = min(end, stop) - max(start, begin)
            if overlap > 1e-9:
                found.append((one, other, confidence * overlap / (stop - begin)))
    return found


def _laid_out(units: Units, some: list[int]) -> list[tuple[float, float]]:
    lengths = [units.units[at].end - units.units[at].start for at in some]
    sums = [0, *accumulate(lengths)]
    return [(start / sums[-1], end / sums[-1]) for start, end in pairwise(sums)]


def _cuts_as_in_source(links: list[Link], source: Units, target: Units) -> list[int]:
    """Where to split target units that alone translate source units that a tag has split."""
    cuts = []
    for here, there, _ in _groups(links, source, target):
        if len(there) == 1 and len(here) > 1:
            unit = target.units[there[0]]
            places = [unit.start + round(end * (unit.end - unit.start)) for _, end in _laid_out(source, here)[:-1]]
            cuts += [snap(target.text, place) for place in places]
    return cuts


def _cuts_between_words(links: list[Link], source: Units, target: Units) -> list[int]:
    """Where to split texts without spaces that translate several words."""
    cuts = []
    for _, cores, sharing in _unspaced(links, source, target):
        start, end = target.units[cores[0]].start, target.units[cores[-1]].end
        places = [start + round(share * (end - start)) for _, share in _laid_out(source, sharing)[:-1]]
        cuts += [snap(target.text, place) for place in places]
    return cuts


def _shares(links: list[Link], source: Units, target: Units) -> dict[tuple[int, int], list[int]]:
    """For a target word without spaces that translates several source words, the units that belong to each of them."""
    shares: dict[tuple[int, int], list[int]] = {}
    for word, cores, sharing in _unspaced(links, source, target):
        for at in sharing:
            shares[source.units[at].number, word] = []
        for at, core, share in _overlaps(source, sharing, target, cores, 1.0):
            if share > 0.5:
                shares[source.units[at].number, word].append(core)
    return shares


def _unspaced(links: list[Link], source: Units, target: Units) -> Iterator[tuple[int, list[int], list[int]]]:
    """Words of a script without spaces: their cores, and those of the several source words that they translate."""
    here, there = source.of_words(), target.of_words()
    linked: dict[int, set[int]] = defaultdict(set)
    for one, other, _ in links:
        linked[other].add(one)
    for word, ones in linked.items():
        cores = [at for at in there.get(word, []) if target.units[at].kind == "core"]
        sharing = [at for one in sorted(ones) for at in here.get(one, []) if source.units[at].kind == "core"]
        if len({source.units[at].number for at in sharing}) < 2 or not cores:
            continue
        if UNSPACED.search(target.text, target.units[cores[0]].start, target.units[cores[-1]].end):
            yield word, cores, sharing
