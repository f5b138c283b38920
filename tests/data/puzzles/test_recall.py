import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.puzzles.recall import Recall


def test_the_answer_stands_after_the_key_that_is_asked_for() -> None:
    puzzle, draw = Recall(length=31, pairs=5, keys=9), np.random.default_rng(1)
    for _ in range(50):
        row, answer = puzzle.draw(draw)
        assert len(row) == 31
        places = np.flatnonzero(row[:-1] == row[-1])
        assert len(places) == 1
        assert row[places[0] + 1] - 2 - 9 == answer
        assert ((row[:-1] >= 2) & (row[:-1] < 11)).sum() == 5


def test_dials_that_do_not_fit_are_told() -> None:
    with pytest.raises(ConfigError, match="recall: 8 pairs and a question need a length of 17, not 16"):
        Recall(length=16)
    with pytest.raises(ConfigError, match="recall: keys must be at least 8, but is 4"):
        Recall(keys=4)
