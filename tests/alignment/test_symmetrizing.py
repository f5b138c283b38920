"""Symmetrization against the definition, point by point."""

import random

import pytest

from regard.alignment.symmetrizing import (
    SYMMETRIZATIONS,
    flipped,
    grow_diag_final_and,
    intersection,
    symmetrize,
    union,
)
from regard.base.errors import UsageError
from regard.data.links import Link, parse_links, to_pharaoh


def by_the_book(forward: set, backward: set, source_words: int, target_words: int) -> set:
    """Koehn's pseudo-code (Statistical Machine Translation, figure 4.14) as it stands; the target is English."""
    neighboring = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    alignment = {(target, source) for source, target in forward & backward}
    either = {(target, source) for source, target in forward | backward}

    def free(e: int, f: int) -> tuple[bool, bool]:
        return all(one != e for one, _ in alignment), all(other != f for _, other in alignment)

    while True:
        before = len(alignment)
        for e in range(target_words):
            for f in range(source_words):
                if (e, f) not in alignment:
                    continue
                for down, across in neighboring:
                    new = (e + down, f + across)
                    if any(free(*new)) and new in either:
                        alignment.add(new)
        if len(alignment) == before:
            break
    for direction in (forward, backward):
        for e in range(target_words):
            for f in range(source_words):
                if all(free(e, f)) and (f, e) in direction:
                    alignment.add((e, f))
    return {(f, e) for e, f in alignment}


@pytest.mark.parametrize("density", [0.05, 0.15, 0.4])
def test_growing_is_the_published_pseudo_code(density: float) -> None:
    chance = random.Random(int(density * 100))
    grown = 0
    for _ in range(150):
        size = chance.randint(1, 8), chance.randint(1, 8)
        points = [(source, target) for source in range(size[0]) for target in range(size[1])]
        both = [{point for point in points if chance.random() < density} for _ in range(2)]
        forward, backward = (tuple(Link(*point) for point in side) for side in both)
        found = {link.point for link in grow_diag_final_and(forward, backward)}
        assert found == by_the_book(*both, *size)
        assert both[0] & both[1] <= found <= both[0] | both[1]
        grown += found != both[0] & both[1]
    assert grown > 20


@pytest.mark.parametrize(
    ("forward", "backward", "grown"),
    [
        ("0-0 1-1", "0-0 1-1", "0-0 1-1"),
        ("0-0 1-1", "0-0", "0-0 1-1"),  # a diagonal neighbor, both of whose words are free
        ("0-0 0-1 0-2", "0-0", "0-0 0-1 0-2"),  # one by one along a free row
        ("0-0 5-5", "0-0", "0-0 5-5"),  # no neighbor, but both words are free
        ("0-0 0-5", "0-0", "0-0"),  # no neighbor, and a word that has a link
        ("0-0 1-1 1-0", "0-0 1-1", "0-0 1-1"),  # both words have links
        ("3-0", "0-3", "3-0 0-3"),  # nothing to grow from
        ("0-2", "0-4", "0-2"),  # forward comes first in the last step
        ("", "", ""),
    ],
)
def test_growing_by_hand(forward: str, backward: str, grown: str) -> None:
    assert to_pharaoh(grow_diag_final_and(parse_links(forward), parse_links(backward))) == grown


def test_a_link_is_as_sure_as_the_mean_of_those_who_support_it() -> None:
    forward = (Link(0, 0, 0.9), Link(1, 1, 0.5), Link(3, 2, 0.4))
    backward = (Link(0, 0, 0.7), Link(1, 1, 0.1), Link(2, 1, 0.3))
    assert intersection(forward, backward) == (Link(0, 0, pytest.approx(0.8)), Link(1, 1, pytest.approx(0.3)))
    assert union(forward, backward)[2:] == (Link(2, 1, 0.3), Link(3, 2, 0.4))
    assert [link.point for link in union(forward, backward)] == [(0, 0), (1, 1), (2, 1), (3, 2)]
    assert grow_diag_final_and(forward, backward)[0].confidence == pytest.approx(0.8)


@pytest.mark.parametrize("name", SYMMETRIZATIONS)
def test_agreement_stays_and_nothing_is_made_up(name: str) -> None:
    one, other = parse_links("0-0 1-2 2-1"), parse_links("0-0 1-2 2-2 3-3")
    points = {link.point for link in SYMMETRIZATIONS[name](one, other)}
    assert {(0, 0), (1, 2)} <= points <= {link.point for link in (*one, *other)}
    assert SYMMETRIZATIONS[name](one, one) == one


def test_links_from_the_other_side() -> None:
    assert flipped((Link(0, 2, 0.5), Link(3, 1))) == (Link(2, 0, 0.5), Link(1, 3))
    assert flipped(flipped(parse_links("0-2 3-1 3-2"))) == parse_links("0-2 3-1 3-2")


def test_it_is_chosen_by_its_name() -> None:
    one, other = parse_links("0-0 1-2 2-1"), parse_links("0-0 1-2 2-2 3-3")
    assert symmetrize(one, other) == grow_diag_final_and(one, other)
    assert symmetrize(one, other, "union") == union(one, other)
    with pytest.raises(UsageError, match=r"symmetrize\.by: unknown 'unoin' \(did you mean 'union'\?\)"):
        symmetrize(one, other, "unoin")
