import sys

import numpy as np
import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.set_problem import SET_PROBLEMS, digit_pictures

NAMES = pytest.mark.parametrize("name", SET_PROBLEMS.names)


@NAMES
def test_sizes_vary_and_draws_are_the_generators(name: str) -> None:
    problem = SET_PROBLEMS.make({"name": name, "size": 7, "smallest": 5})
    once, again = (problem.draw(np.random.default_rng(1), 30) for _ in range(2))
    assert {len(one.elements) for one in once} == {5, 6, 7}
    assert all(
        np.array_equal(a.elements, b.elements) and a.target == b.target for a, b in zip(once, again, strict=True)
    )


@NAMES
def test_sizes_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name}: smallest \(9\) must be at most size \(8\)"):
        SET_PROBLEMS.get(name)(size=8, smallest=9)
    assert len(SET_PROBLEMS.get(name)(size=1, smallest=0).draw(np.random.default_rng(1), 5)) == 5


def test_pictures_for_validation_are_others() -> None:
    train, dev = digit_pictures("train"), digit_pictures("dev")
    assert len(train[1]) + len(dev[1]) == 1_797
    assert train[0].max() == 1.0


def test_without_scikit_learn_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    digit_pictures.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(RegardError, match="digits: the pictures come with scikit-learn: pip install"):
        digit_pictures("train")
