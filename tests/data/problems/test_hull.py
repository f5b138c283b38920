import numpy as np
import pytest

from regard.data.problems.hull import Hull, polygon_area


def by_definition(points: np.ndarray) -> set[int]:
    """A point is on the hull if some line through it and another has all points on one side."""
    found = set()
    for i, one in enumerate(points):
        for j, other in enumerate(points):
            edge, rest = other - one, points - one
            if i != j and (edge[0] * rest[:, 1] - edge[1] * rest[:, 0] >= -1e-12).all():
                found.add(i)
    return found


def test_the_hull_is_that_of_the_definition() -> None:
    points = np.random.default_rng(1).random((60, 9, 2))
    for own, answer in zip(points, Hull(9).solve(points), strict=True):
        corners = answer[answer >= 0]
        assert set(corners.tolist()) == by_definition(own)
        assert corners[0] == own[:, 0].argmin()
        edges = np.roll(own[corners], -1, 0) - own[corners]
        then = np.roll(edges, -1, 0)
        assert (edges[:, 0] * then[:, 1] > edges[:, 1] * then[:, 0]).all(), "counterclockwise, and convex"


def test_points_on_an_edge_are_left_out() -> None:
    square = np.array([[[0, 0], [0, 1], [0, 0.5], [1, 1], [1, 0], [0.5, 1], [0.5, 0.5]]], dtype=float)
    answer = Hull(7).solve(square)[0]
    assert answer[answer >= 0].tolist() == [0, 4, 3, 1]


def test_area_is_how_much_of_the_hull_is_covered() -> None:
    square = np.array([[[0, 0], [1, 0], [1, 1], [0, 1]]], dtype=float)
    truth = Hull(4).solve(square).tolist()
    assert polygon_area(square[0]) == 1
    assert Hull(4).scores(list(square), [(0, 1, 2)], truth) == {"exact": 0.0, "area": pytest.approx(50)}
    assert Hull(4).scores(list(square), [(0, 2, 1, 3)], truth)["area"] == pytest.approx(0), "it crosses itself"
