"""Runs of target words against all runs there are."""

import itertools
import random

import numpy as np

from regard.markup.projection import project
from regard.markup.segments import Mark, SegmentText
from regard.markup.units import split_units

OPEN, CLOSE, SINGLE = Mark("<b>", "open"), Mark("</b>", "close"), Mark("<img>", "single")


def placed(text: str, marks: list[tuple[int, Mark]], target: str, points: list[tuple[int, int]]) -> str:
    reading = SegmentText(text, (), tuple(marks))
    source = split_units(text, cuts=[at for at, _ in marks])
    columns = np.array(points, int).reshape(-1, 2)
    bonds = (columns[:, 0], columns[:, 1], np.ones(len(points)))
    written, at = "", 0
    for place, mark in project(reading, source, split_units(target), bonds):
        written += target[at:place] + mark.written
        at = place
    return written + target[at:]


def test_the_run_agrees_best_with_the_element() -> None:
    dice = random.Random(0)
    for _ in range(200):
        size = dice.randint(2, 7)
        points = sorted({(dice.randrange(6), dice.randrange(size)) for _ in range(dice.randint(1, 10))})
        done = placed("0 1 2 3 4 5", [(2, OPEN), (5, CLOSE)], " ".join("abcdefg"[:size]), points)
        inside = done[done.index("<b>") + 3 : done.index("</b>")].split()
        start = "abcdefg".index(inside[0]) if inside else 0

        def agreement(begin: int, end: int, points: list[tuple[int, int]] = points) -> float:
            total = 0.0
            for unit in range(begin, end):
                own = [source in (1, 2) for source, target in points if target == unit]
                total += (2 * sum(own) - len(own)) / len(own) if own else 0.0
            return total

        linked = any(source in (1, 2) for source, _ in points)
        best = max(agreement(*run) for run in itertools.combinations(range(size + 1), 2))
        assert bool(inside) == linked
        if linked and best > 1e-9:
            assert abs(agreement(start, start + len(inside)) - best) < 1e-9


def test_siblings_do_not_overlap() -> None:
    marks = [(0, OPEN), (1, CLOSE), (2, OPEN), (3, CLOSE)]
    assert placed("a b", marks, "x y", [(0, 0), (0, 1), (1, 1)]) == "<b>x</b> <b>y</b>"
    assert placed("a b", marks, "x", [(0, 0), (1, 0)]) == "<b>x</b><b></b>"


def test_what_encloses_nothing_stays_beside_its_neighbor() -> None:
    backwards = [(0, 2), (1, 1), (2, 0)]
    assert placed("a b c", [(2, SINGLE)], "z y x", backwards) == "z <img>y x"
    assert placed("a b c", [(3, SINGLE)], "z y x", backwards) == "z y<img> x"
    assert placed("a b c", [(0, SINGLE)], "z y x", backwards) == "<img>z y x"
    assert placed("a b c", [(5, SINGLE)], "z y x", backwards) == "z y x<img>"


def test_what_was_not_translated_leaves_an_empty_element() -> None:
    assert placed("a b c", [(2, OPEN), (3, CLOSE)], "x z", [(0, 0), (2, 1)]) == "x <b></b>z"
