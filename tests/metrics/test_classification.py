"""Against counting by hand, and scikit-learn's documented examples."""

import numpy as np
import pytest

from regard.metrics.classification import (
    accuracy,
    calibration_error,
    class_metrics,
    confusion,
    macro_f1,
    matthews,
)

TRUE, FOUND = [0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1]


def test_counts() -> None:
    assert confusion(TRUE, FOUND, 3).tolist() == [[2, 0, 0], [1, 0, 1], [0, 2, 0]]
    assert accuracy(confusion(TRUE, FOUND, 3)) == pytest.approx(1 / 3)


def test_macro_f1_is_that_of_the_documentation() -> None:
    """The documentation of scikit-learn's f1_score has 0.26… for these."""
    assert macro_f1(confusion(TRUE, FOUND, 3)) == pytest.approx(0.8 / 3)


def test_matthews_is_that_of_the_documentation() -> None:
    """The documentation of scikit-learn's matthews_corrcoef has -0.33… for these."""
    assert matthews(confusion([1, 1, 1, 0], [1, 0, 1, 1], 2)) == pytest.approx(-1 / 3)
    assert matthews(confusion([1, 1, 0], [1, 1, 1], 2)) == 0.0
    assert matthews(confusion(TRUE, TRUE, 3)) == pytest.approx(1.0)


def test_matthews_of_two_classes_is_the_correlation() -> None:
    draw = np.random.default_rng(1)
    true, found = draw.integers(0, 2, 60), draw.integers(0, 2, 60)
    assert matthews(confusion(true.tolist(), found.tolist(), 2)) == pytest.approx(np.corrcoef(true, found)[0, 1])


def test_calibration_is_the_gap_of_each_bin() -> None:
    assert calibration_error([0.95, 0.95, 0.55, 0.55], [True, True, True, False], bins=10) == pytest.approx(0.05)
    assert calibration_error([1.0, 1.0], [False, False]) == 1.0
    assert calibration_error([0.75] * 4, [True, True, True, False]) == 0.0


def test_all_at_once_for_one_label_and_for_several() -> None:
    chances = np.eye(3)[FOUND] * 0.7 + 0.1
    found = class_metrics(np.array(TRUE), chances)
    assert found == pytest.approx(
        {
            "accuracy": 1 / 3,
            "macro_f1": 0.8 / 3,
            "matthews": matthews(confusion(TRUE, FOUND, 3)),
            "calibration": 0.8 - 1 / 3,
        }
    )
    several = class_metrics(np.array([[1, 0], [1, 1], [0, 0]]), np.array([[0.9, 0.2], [0.8, 0.3], [0.1, 0.1]]))
    assert several["accuracy"] == pytest.approx(2 / 3)
    assert several["macro_f1"] == pytest.approx(0.5)
