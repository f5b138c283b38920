import numpy as np
import pytest

from regard.metrics.sparsity import active, hoyer, zero_share


def test_known_answers() -> None:
    assert hoyer(np.eye(4)) == pytest.approx(1.0)
    assert hoyer(np.ones((3, 9))) == pytest.approx(0.0)
    assert hoyer(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])) == pytest.approx((2 - 2**0.5) / 1)
    assert zero_share(np.eye(4)) == 0.75
    assert active(np.eye(4)) == 1.0


def test_by_a_loop() -> None:
    x = np.random.default_rng(1).standard_normal((7, 5)) ** 3
    scores, counts = [], []
    for row in x:
        ratio = sum(abs(row)) / sum(row**2) ** 0.5
        scores.append((5**0.5 - ratio) / (5**0.5 - 1))
        size = (sum(row**2) / 5) ** 0.5
        counts.append(sum(abs(value) > 0.5 * size for value in row))
    assert hoyer(x) == pytest.approx(np.mean(scores))
    assert active(x, 0.5) == pytest.approx(np.mean(counts))
    assert hoyer(10 * x) == pytest.approx(hoyer(x))
