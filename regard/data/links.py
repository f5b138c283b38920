"""Word alignments: links between source and target words, and the Pharaoh format.

The Pharaoh format has a line for each sentence pair and `source-target` for each link, words counted from 0:
`0-0 1-2 2-1`. `1?2` is a link that is possible but not sure (Och and Ney, 2003, Computational Linguistics 29:1).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.base.errors import RegardError
from regard.base.files import read_lines

_LINK = re.compile(r"(\d+)([-?])(\d+)")

LinkPoint = tuple[int, int]
"""the numbers of a source word and a target word"""


class Link(NamedTuple):
    """An alignment link: the indices (from 0) of a source word and a target word, and its confidence.

    >>> Link(source=0, target=2).point
    (0, 2)
    """

    source: int
    target: int
    confidence: float = 1.0

    @property
    def point(self) -> LinkPoint:
        """The link without its confidence."""
        return self.source, self.target


Links = tuple[Link, ...]
_Sizes = Sequence[tuple[int, int]]
"""how many source words and target words each sentence pair has"""


@dataclass(frozen=True)
class Gold:
    """The gold alignment of one sentence pair; sure links are possible links too."""

    sure: frozenset[LinkPoint]
    possible: frozenset[LinkPoint]


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
    return tuple(Link(*point) for point in in_order(parse_gold(line, where).possible))


def read_gold(path: str | Path, sizes: _Sizes | None = None) -> list[Gold]:
    """Read the links of each line; if the sizes of the sentence pairs are given, the links must fit them.

    >>> gold = read_gold("test.links")
    >>> gold[0].sure <= gold[0].possible
    True
    """
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


def in_order(points: Iterable[LinkPoint]) -> list[LinkPoint]:
    """Ordered by target word, then by source word."""
    return sorted(points, key=lambda point: (point[1], point[0]))


def _check_inside(points: Iterable[LinkPoint], size: tuple[int, int], where: str) -> None:
    for source, target in points:
        for side, at, words in (("source", source, size[0]), ("target", target, size[1])):
            if at >= words:
                raise RegardError(
                    f"{where}: the link {source}-{target} names {side} word {at}, but the sentence has {words} words, "
                    "counted from 0"
                )
