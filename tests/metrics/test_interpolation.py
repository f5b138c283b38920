from itertools import pairwise

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.metrics.interpolation import mean_straightness, path_between


def test_examples_on_a_line_are_met_one_after_the_other() -> None:
    line = np.outer(np.linspace(0, 1, 9), [3.0, 4.0])
    path = path_between(line, 0, 8)
    assert path.places == tuple(range(9))
    assert path.straightness == pytest.approx(1.0)
    assert path.gap == pytest.approx(0.0, abs=1e-6)
    assert mean_straightness(line, pairs=5) == pytest.approx(1.0)


def test_a_circle_is_crossed_through_its_rim() -> None:
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    path = path_between(circle, 0, 15, steps=5)
    line = [(1 - t) * circle[0] + t * circle[15] for t in (0, 0.25, 0.5, 0.75, 1)]
    nearest = [min(range(40), key=lambda at, one=one: np.linalg.norm(circle[at] - one)) for one in line]
    walked = sum(np.linalg.norm(circle[a] - circle[b]) for a, b in pairwise(nearest))
    assert not {0, 15} & set(path.places[1:-1])
    assert path.straightness == pytest.approx(np.linalg.norm(circle[0] - circle[15]) / walked)
    assert path.straightness < 0.95
    assert path.gap > 1


def test_two_examples_are_needed() -> None:
    for start, end in ((0, 0), (0, 5), (-1, 1)):
        with pytest.raises(RegardError, match="needs two different examples from 1 to 3"):
            path_between(np.eye(3), start, end)
