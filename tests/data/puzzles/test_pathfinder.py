import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.puzzles.pathfinder import Pathfinder


def connected(picture: np.ndarray) -> bool:
    """By flooding from one dot over neighboring pixels that are not empty."""
    first, second = map(tuple, np.argwhere(picture == 3))
    seen, todo = {first}, [first]
    while todo:
        row, column = todo.pop()
        for place in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = min(place) >= 0 and max(place) < len(picture)
            if inside and place not in seen and picture[place] > 1:
                seen.add(place)
                todo.append(place)
    return second in seen


def test_dots_are_connected_exactly_where_the_answer_says_so() -> None:
    puzzle, draw = Pathfinder(size=10, steps=8, paths=3), np.random.default_rng(1)
    answers = []
    for _ in range(80):
        row, answer = puzzle.draw(draw)
        picture = row.reshape(10, 10)
        assert (picture == 3).sum() == 2
        assert connected(picture) == bool(answer)
        answers.append(int(answer))
    assert 0.3 < np.mean(answers) < 0.7


def test_a_picture_too_small_is_told() -> None:
    with pytest.raises(ConfigError, match="pathfinder: size must be at least 5, but is 4"):
        Pathfinder(size=4)
