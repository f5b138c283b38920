import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.metrics.feature_checks import checked_features, directions, numbered_labels, scikit_learn, smallest_class


@pytest.mark.parametrize(("features", "words"), [
    ([[1.0, np.nan], [0.0, 1.0]], "1 of 2 vectors hold NaN or infinity, first that of example 1"),
    ([[0.0, 1.0], [np.inf, 1.0]], "first that of example 2"),
    ([[1.0, 2.0], [1.0, 2.0]], "are constant: all 2 vectors are the same"),
    ([1.0, 2.0], "must be an array"),
])  # fmt: skip
def test_features_that_tell_nothing(features: list, words: str) -> None:
    with pytest.raises(RegardError, match=words):
        checked_features(features)


def test_labels() -> None:
    numbers, names = numbered_labels(["b", "a", "b"], 3)
    assert numbers.tolist() == [1, 0, 1] and names == ("a", "b")
    assert smallest_class(numbers) == (0, 1)
    with pytest.raises(RegardError, match="there are 2 labels, but 3 examples"):
        numbered_labels(["a", "b"], 3)
    with pytest.raises(RegardError, match="there is one class alone, 'a'; two are needed"):
        numbered_labels(["a", "a"], 2)


def test_directions_have_length_one() -> None:
    made = directions(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(made, [[0.6, 0.8], [0, 0]])
    scikit_learn()
