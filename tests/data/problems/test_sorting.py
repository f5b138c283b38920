import numpy as np

from regard.data.problems.sorting import Sorting


def test_numbers_are_sorted_and_equal_ones_stay_in_order() -> None:
    points = np.array([[[0.5], [0.1], [0.5], [0.0]]])
    assert Sorting(4).solve(points).tolist() == [[3, 1, 0, 2]]
