import itertools

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from regard.attention.normalizers.sparsemax import Sparsemax


def bisect(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """max(logits - τ, 0), with the τ at which it sums to one found by halving."""
    low, high = logits.max() - 1, logits.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(logits - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(logits - (low + high) / 2, 0)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 30.0])
def test_is_the_formula(scale: float) -> None:
    logits = torch.randn(40, 9, dtype=torch.float64) * scale
    expected = np.stack([bisect(row) for row in logits.numpy()])
    np.testing.assert_allclose(Sparsemax()(logits).numpy(), expected, atol=1e-12)


def test_is_the_nearest_point_of_the_simplex() -> None:
    logits = torch.tensor([[0.9, 0.2, -0.4]], dtype=torch.float64)
    nearest = Sparsemax()(logits)[0]
    best = (nearest - logits[0]).square().sum()
    for first, second in itertools.product(np.linspace(0, 1, 41), repeat=2):
        if first + second <= 1:
            point = torch.tensor([first, second, 1 - first - second], dtype=torch.float64)
            assert (point - logits[0]).square().sum() >= best - 1e-12


def test_far_off_keys_get_exactly_nothing() -> None:
    weights = Sparsemax()(torch.tensor([[3.0, 2.5, 1.0]]))
    assert weights.tolist() == [[0.75, 0.25, 0.0]]


def test_equal_logits_share_alike() -> None:
    torch.testing.assert_close(Sparsemax()(torch.zeros(1, 4)), torch.full((1, 4), 0.25))
