"""What units respond to: against scikit-learn's F statistic, and on units that are known."""

import numpy as np
import pytest

from regard.metrics.selectivity import selectivity, telling_units


def test_the_share_is_that_of_analysis_of_variance() -> None:
    """F = (η² / (k - 1)) / ((1 - η²) / (n - k))."""
    f_classif = pytest.importorskip("sklearn.feature_selection").f_classif
    draw = np.random.default_rng(1)
    labels = draw.integers(0, 4, 60)
    features = draw.normal(size=(60, 7)) + labels[:, None] * np.linspace(0, 1, 7)
    shares = selectivity(features, labels)
    expected, _ = f_classif(features, labels)
    np.testing.assert_allclose((shares / 3) / ((1 - shares) / 56), expected, rtol=1e-9)


def test_known_units_are_found() -> None:
    labels = np.array([0, 1, 2] * 10)
    draw = np.random.default_rng(2)
    features = draw.normal(size=(30, 5))
    features[:, 3] = labels == 1
    features[:, 4] = 1.0  # never varies
    features[16, 3] = 2.0
    shares = selectivity(features, labels)
    assert shares[4] == 0 and shares.argmax() == 3
    first, *others = telling_units(features, labels, count=3, examples=2)
    assert (first.unit, first.favorite, first.strongest) == (3, 1, (16, 1))
    assert len(others) == 2 and first.selectivity > others[0].selectivity >= others[1].selectivity


def test_a_unit_that_is_the_class_has_all_of_it() -> None:
    labels = np.array([0, 1, 1, 0])
    assert selectivity(labels[:, None].astype(float), labels) == pytest.approx([1.0])
