import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.metrics.linear_probe import ShotScore, drawn_shots, few_shot_scores, linear_probe

random = np.random.default_rng(5)
LABELS = np.arange(120) % 3
X = np.eye(3, 6)[LABELS] * 2 + random.standard_normal((120, 6))
TEST = np.eye(3, 6)[LABELS] * 2 + random.standard_normal((120, 6))


def test_it_is_logistic_regression_with_the_best_regularization() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    found = linear_probe(X, LABELS, TEST, LABELS, strengths=(0.001, 1.0))
    means = {c: cross_val_score(LogisticRegression(C=c, max_iter=100), X, LABELS, cv=5).mean() for c in (0.001, 1.0)}
    best = max(means, key=lambda c: means[c])
    expected = LogisticRegression(C=best, max_iter=100).fit(X, LABELS).score(TEST, LABELS)
    assert (found.accuracy, found.strength) == (pytest.approx(expected), best)
    assert linear_probe(X[:6], LABELS[:6], TEST, LABELS, strengths=(0.5,)).strength == 0.5
    assert linear_probe(X[:3], LABELS[:3], TEST, LABELS).strength == 1.0


def test_draws_are_nested_balanced_and_the_same_again() -> None:
    for draw in range(3):
        few, many = drawn_shots(LABELS, 2, draw), drawn_shots(LABELS, 8, draw)
        assert set(few) <= set(many)
        assert np.bincount(LABELS[many]).tolist() == [8, 8, 8]
        np.testing.assert_array_equal(many, drawn_shots(LABELS, 8, draw))
    assert set(drawn_shots(LABELS, 8, 0)) != set(drawn_shots(LABELS, 8, 1))
    assert set(drawn_shots(LABELS, 8, 0, seed=2)) != set(drawn_shots(LABELS, 8, 0))


def test_more_labels_help() -> None:
    one, many = few_shot_scores(X, LABELS, TEST, LABELS, shots=(1, 16), draws=4)
    assert (one.shots, many.shots) == (1, 16)
    assert len(one.accuracies) == 4
    assert many.mean > one.mean


def test_the_interval_is_students() -> None:
    score = ShotScore(1, (0.5, 0.7, 0.6))
    assert score.mean == pytest.approx(0.6)
    assert score.margin == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-5)
    assert ShotScore(1, (0.5,)).margin == 0.0


def test_fewer_examples_than_shots() -> None:
    with pytest.raises(RegardError, match="41 examples of each class are asked for, but class 1 has 40"):
        few_shot_scores(X, LABELS, TEST, LABELS, shots=(41,))
