import pytest

from regard.base.errors import RegardError
from regard.metrics.correlation import spearman


def test_ranks_alone_count() -> None:
    assert spearman([1, 2, 3, 10], [2, 4, 8, 16]) == pytest.approx(1.0)
    assert spearman([1, 2, 3], [9, 4, 1]) == pytest.approx(-1.0)
    assert spearman([1, 1, 1], [1, 2, 3]) == 0.0


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    # ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: Σ xy = 4.5, |x|² = 4.5, |y|² = 5 about their means
    assert spearman([0, 5, 5, 7], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)


def test_as_scipy_has_it() -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = [3, 1, 2, 2, 5, 4, 4, 4], [1.5, 0.2, 0.2, 0.9, 4.0, 2.2, 2.1, 0.0]
    assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic)


def test_unequal_numbers_are_refused() -> None:
    with pytest.raises(RegardError, match="as many numbers on both sides, but has 1 and 2"):
        spearman([1], [1, 2])
