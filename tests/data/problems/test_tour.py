from itertools import permutations

import numpy as np
import pytest

from regard.data.problems.tour import Tour, tour_length


@pytest.mark.parametrize("size", [3, 4, 7])
def test_no_tour_is_shorter(size: int) -> None:
    points = np.random.default_rng(1).random((6, size, 2))
    for own, tour in zip(points, Tour(size).solve(points), strict=True):
        shortest = min(tour_length(own[[0, *rest]]) for rest in permutations(range(1, size)))
        assert tour_length(own[tour]) == pytest.approx(shortest, abs=1e-12)
        assert tour[0] == own[:, 0].argmin()
        x, y = own[tour].T
        assert (x * np.roll(y, -1) - np.roll(x, -1) * y).sum() > 0, "counterclockwise"


def test_length_and_excess() -> None:
    square = np.array([[[0, 0], [1, 0], [1, 1], [0, 1]]], dtype=float)
    truth = Tour(4).solve(square).tolist()
    assert truth == [[0, 1, 2, 3]]
    found = Tour(4).scores(list(square), [(0, 2, 1, 3)], truth)
    assert found["length"] == pytest.approx(2 + 2 * 2**0.5)
    assert found["excess"] == pytest.approx(100 * (2**0.5 - 1) / 2)
