from itertools import combinations

import numpy as np
import pytest

from regard.metrics.geometry import alignment, effective_rank, isotropy, mean_cosine, uniformity

X = np.random.default_rng(2).standard_normal((40, 6)) + 0.5
LABELS = np.arange(40) % 3


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_by_loops() -> None:
    u = unit(X)
    pairs = list(combinations(range(40), 2))
    assert mean_cosine(X) == pytest.approx(np.mean([u[a] @ u[b] for a, b in pairs]))
    squares = {pair: float(((u[pair[0]] - u[pair[1]]) ** 2).sum()) for pair in pairs}
    own = [square for (a, b), square in squares.items() if LABELS[a] == LABELS[b]]
    assert alignment(X, LABELS) == pytest.approx(np.mean(own))
    assert uniformity(X) == pytest.approx(np.log(np.mean([np.exp(-2 * square) for square in squares.values()])))
    values = np.linalg.eigvalsh((X - X.mean(0)).T @ (X - X.mean(0))) ** 0.5
    shares = values / values.sum()
    assert effective_rank(X) == pytest.approx(np.exp(-sum(share * np.log(share) for share in shares)))
    scaled = X / np.mean(np.linalg.norm(X, axis=1))
    _, vectors = np.linalg.eigh(X.T @ X)
    partition = [sum(np.exp(sign * x @ c) for x in scaled) for c in vectors.T for sign in (1, -1)]
    assert isotropy(X) == pytest.approx(min(partition) / max(partition))


def test_known_answers() -> None:
    axes = np.concatenate([np.eye(5), -np.eye(5)])
    assert isotropy(axes) == pytest.approx(1.0)
    assert effective_rank(axes) == pytest.approx(5.0)
    assert mean_cosine(axes) == pytest.approx(-1 / 9)
    line = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 0.0])
    assert effective_rank(line) == pytest.approx(1.0, abs=1e-6)
    assert mean_cosine(line) == pytest.approx(1.0)
    assert uniformity(line) == pytest.approx(0.0, abs=1e-9)
    assert alignment(np.repeat(np.eye(3), 4, 0), np.repeat(np.arange(3), 4)) == pytest.approx(0.0, abs=1e-9)
    assert isotropy(1000 * X) == pytest.approx(isotropy(X))


def test_many_examples_are_sampled() -> None:
    many = np.random.default_rng(3).standard_normal((2500, 3))
    assert uniformity(many) == uniformity(many)
    assert uniformity(many) == pytest.approx(uniformity(many[:2000]), abs=0.05)
