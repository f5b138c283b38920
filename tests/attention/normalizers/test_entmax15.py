import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from regard.attention.normalizers.entmax15 import Entmax15
from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.sparsemax import Sparsemax


def bisect(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """max(logits / 2 - τ, 0)², with the τ at which it sums to one found by halving."""
    halves = logits / 2
    low, high = halves.max() - 1, halves.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (np.maximum(halves - middle, 0) ** 2).sum() > 1 else (low, middle)
    return np.maximum(halves - (low + high) / 2, 0) ** 2


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 30.0])
def test_is_the_formula(scale: float) -> None:
    logits = torch.randn(40, 9, dtype=torch.float64) * scale
    expected = np.stack([bisect(row) for row in logits.numpy()])
    np.testing.assert_allclose(Entmax15()(logits).numpy(), expected, atol=1e-12)


def test_lies_between_softmax_and_sparsemax() -> None:
    logits = torch.randn(50, 12, dtype=torch.float64) * 1.5
    soft, half, sparse = (part(logits).count_nonzero() for part in (Softmax(), Entmax15(), Sparsemax()))
    assert sparse < half < soft


def test_long_rows_stay_exact_in_float32() -> None:
    logits = torch.randn(4, 2000)
    exact = Entmax15()(logits.double())
    torch.testing.assert_close(Entmax15()(logits).double(), exact, atol=1e-4, rtol=0)
    torch.testing.assert_close(Entmax15()(logits).sum(-1), torch.ones(4), atol=1e-3, rtol=0)
