"""Symmetrization: the links of both directions combined into one alignment."""

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush

from regard.base.errors import check_one_of
from regard.data.links import Link, LinkPoint, Links, in_order

Symmetrization = Callable[[Links, Links], Links]
_NEIGHBORS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def flipped(links: Iterable[Link]) -> Links:
    """The links with source and target exchanged, as a model of the other direction would give them."""
    other = (Link(link.target, link.source, link.confidence) for link in links)
    return tuple(sorted(other, key=lambda link: (link.target, link.source)))


def intersection(forward: Links, backward: Links) -> Links:
    """The links that both directions have."""
    return _supported({link.point for link in forward} & {link.point for link in backward}, forward, backward)


def union(forward: Links, backward: Links) -> Links:
    """The links that either direction has."""
    return _supported({link.point for link in forward} | {link.point for link in backward}, forward, backward)


def grow_diag_final_and(forward: Links, backward: Links) -> Links:
    """The intersection, grown by neighboring links of the union, then by links between words that have none yet.

    Koehn, Och and Marcu, 2003 (N03-1017), and Koehn's Statistical Machine Translation, figure 4.14, with English as
    the target. A link may be added if one of its two words has no link yet; the neighbors of a link are tried once,
    since links are never removed.
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
        for source, target in in_order(direction):
            if source not in sources and target not in targets:
                add((source, target))
    return _supported(points, forward, backward)


SYMMETRIZATIONS: Mapping[str, Symmetrization] = {
    "grow-diag-final-and": grow_diag_final_and,
    "intersection": intersection,
    "union": union,
}


def symmetrize(forward: Links, backward: Links, by: str = "grow-diag-final-and") -> Links:
    """Combine the links of both directions; `by` names one of `SYMMETRIZATIONS`.

    >>> forward, backward = (Link(0, 0), Link(1, 1)), (Link(0, 0), Link(2, 1))
    >>> symmetrize(forward, backward, by="intersection")
    (Link(source=0, target=0, confidence=1.0),)
    """
    check_one_of("symmetrize", SYMMETRIZATIONS, by=by)
    return SYMMETRIZATIONS[by](forward, backward)


def _supported(points: Iterable[LinkPoint], forward: Links, backward: Links) -> Links:
    """Links whose confidence is the mean of those of the directions that have them."""
    sure: dict[LinkPoint, list[float]] = {}
    for link in (*forward, *backward):
        sure.setdefault(link.point, []).append(link.confidence)
    return tuple(Link(*point, sum(sure[point]) / len(sure[point])) for point in in_order(points))
