"""Word alignments as values: links between source and target words, what is written of them, and how good they are.

The Pharaoh format has a line for each sentence pair and `source-target` for each link, words counted from 0:
`0-0 1-2 2-1`. `1?2` is a link that is possible but not sure (Och and Ney, 2003, Computational Linguistics 29:1).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import NamedTuple

from regard.base.errors import RegardError
from regard.base.files import read_lines

_LINK = re.compile(r"(\d+)([-?])(\d+)")
_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))

LinkPoint = tuple[int, int]
"""the numbers of a source word and a target word"""


class Link(NamedTuple):
    """A source word and a target word that belong together, by their numbers from 0, and how sure that is."""

    source: int
    target: int
    confidence: float = 1.0

    @property
    def point(self) -> LinkPoint:
        """The two words alone."""
        return self.source, self.target


Links = tuple[Link, ...]
Symmetrization = Callable[[Links, Links], Links]
_Sizes = Sequence[tuple[int, int]]
"""how many source words and target words each sentence pair has"""


@dataclass(frozen=True)
class Gold:
    """What people linked in one sentence pair; sure links are possible ones too."""

    sure: frozenset[LinkPoint]
    possible: frozenset[LinkPoint]


@dataclass(frozen=True)
class ErrorRates:
    """How links A agree with sure links S and possible links P ⊇ S (Och and Ney, 2003).

    precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  error_rate = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
    """

    precision: float
    recall: float
    error_rate: float

    def __str__(self) -> str:
        return f"precision {self.precision:.1%}, recall {self.recall:.1%}, AER {self.error_rate:.1%}"


def error_rates(found: Iterable[Iterable[Link]], gold: Iterable[Gold]) -> ErrorRates:
    """The rates over all sentence pairs together."""
    links = sure = sure_hits = possible_hits = 0
    for own, right in zip(found, gold, strict=True):
        points = {link.point for link in own}
        links, sure = links + len(points), sure + len(right.sure)
        sure_hits += len(points & right.sure)
        possible_hits += len(points & right.possible)
    error = 1 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0
    return ErrorRates(possible_hits / links if links else 1.0, sure_hits / sure if sure else 1.0, error)


def to_pharaoh(links: Iterable[Link]) -> str:
    """One line, ordered by target word, then by source word; confidences are not written."""
    return " ".join(f"{source}-{target}" for target, source in sorted({(link.target, link.source) for link in links}))


def parse_gold(line: str, where: str = "links") -> Gold:
    """The sure and the possible links of a Pharaoh line."""
    sure, possible = set(), set()
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise RegardError(f"{where}: '{word}' is no link; write 3-4, or 3?4 if it is only possible, words from 0")
        point = int(match[1]), int(match[3])
        possible.add(point)
        if match[2] == "-":
            sure.add(point)
    return Gold(frozenset(sure), frozenset(possible))


def parse_links(line: str, where: str = "links") -> Links:
    """The links of a Pharaoh line, possible ones too, ordered by target word."""
    return tuple(Link(*point) for point in _in_order(parse_gold(line, where).possible))


def read_gold(path: str | Path, sizes: _Sizes | None = None) -> list[Gold]:
    """The links of each line; where the sizes of the sentence pairs are given, they must fit these."""
    read = []
    for number, line in enumerate(read_lines(path), start=1):
        gold = parse_gold(line, f"{path}, line {number}")
        if sizes is not None and number <= len(sizes):
            _check_inside(gold.possible, sizes[number - 1], f"{path}, line {number}")
        read.append(gold)
    if sizes is not None and len(read) != len(sizes):
        raise RegardError(
            f"{path}: has {len(read):,} lines of links for {len(sizes):,} sentence pairs; it needs as many"
        )
    return read


def read_links(path: str | Path, sizes: _Sizes | None = None) -> list[Links]:
    """As `read_gold`, without the difference of sure and possible."""
    return [tuple(Link(*point) for point in _in_order(gold.possible)) for gold in read_gold(path, sizes)]


def flipped(links: Iterable[Link]) -> Links:
    """The same links seen from the other side, as those of a model that translates the other way."""
    return tuple(sorted((Link(link.target, link.source, link.confidence) for link in links), key=_place))


def intersection(forward: Links, backward: Links) -> Links:
    """The links that both directions have."""
    return _supported({link.point for link in forward} & {link.point for link in backward}, forward, backward)


def union(forward: Links, backward: Links) -> Links:
    """The links that either direction has."""
    return _supported({link.point for link in forward} | {link.point for link in backward}, forward, backward)


def grow_diag_final_and(forward: Links, backward: Links) -> Links:
    """The intersection, grown by neighboring links of the union, then by links between words that have none yet.

    Koehn, Och and Marcu, 2003 (N03-1017), and Koehn's Statistical Machine Translation, figure 4.14, with English as
    the target. A link may grow if one of its two words is free; a link whose neighbors were looked at need not be
    looked at again, since words are never freed.
    """
    ahead, back = {link.point for link in forward}, {link.point for link in backward}
    points, either = ahead & back, ahead | back
    sources, targets = {source for source, _ in points}, {target for _, target in points}

    def add(point: LinkPoint) -> None:
        points.add(point)
        sources.add(point[0])
        targets.add(point[1])

    visiting = [(target, source) for source, target in points]
    while visiting:
        later: list[LinkPoint] = []
        heapify(visiting)
        while visiting:
            here = heappop(visiting)
            for down, across in _NEIGHBORS:
                target, source = here[0] + down, here[1] + across
                if (source, target) in either and not (source in sources and target in targets):
                    add((source, target))
                    if (target, source) > here:
                        heappush(visiting, (target, source))
                    else:
                        later.append((target, source))
        visiting = later
    for direction in (ahead, back):
        for source, target in _in_order(direction):
            if source not in sources and target not in targets:
                add((source, target))
    return _supported(points, forward, backward)


SYMMETRIZATIONS: Mapping[str, Symmetrization] = {
    "grow-diag-final-and": grow_diag_final_and,
    "intersection": intersection,
    "union": union,
}


def _supported(points: Iterable[LinkPoint], forward: Links, backward: Links) -> Links:
    """Links whose confidence is the mean of those of the directions that have them."""
    sure: dict[LinkPoint, list[float]] = {}
    for link in (*forward, *backward):
        sure.setdefault(link.point, []).append(link.confidence)
    return tuple(Link(*point, sum(sure[point]) / len(sure[point])) for point in _in_order(points))


def _in_order(points: Iterable[LinkPoint]) -> list[LinkPoint]:
    return sorted(points, key=lambda point: (point[1], point[0]))


def _place(link: Link) -> LinkPoint:
    return link.target, link.source


def _check_inside(points: Iterable[LinkPoint], size: tuple[int, int], where: str) -> None:
    for source, target in points:
        for side, at, words in (("source", source, size[0]), ("target", target, size[1])):
            if at >= words:
                raise RegardError(
                    f"{where}: the link {source}-{target} names {side} word {at}, but the sentence has {words} words, "
                    "counted from 0"
                )
