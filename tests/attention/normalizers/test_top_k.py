import numpy as np
import pytest
import torch

from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.top_k import TopK
from regard.base.errors import ConfigError


@pytest.mark.parametrize("k", [1, 3, 6])
def test_is_a_softmax_among_the_best(k: int) -> None:
    logits = torch.randn(4, 6, dtype=torch.float64)
    expected = np.zeros((4, 6))
    for row, values in enumerate(logits.numpy()):
        best = np.argsort(-values)[:k]
        expected[row, best] = np.exp(values[best]) / np.exp(values[best]).sum()
    np.testing.assert_allclose(TopK(k)(logits).numpy(), expected, rtol=1e-13)


def test_more_than_there_are_is_softmax() -> None:
    logits = torch.randn(4, 6, dtype=torch.float64)
    torch.testing.assert_close(TopK(50)(logits), Softmax()(logits))


def test_fewer_may_be_seen_than_k() -> None:
    logits, keep = torch.randn(1, 6, dtype=torch.float64), torch.tensor([[True, False, False, True, False, False]])
    torch.testing.assert_close(TopK(4)(logits, keep), Softmax()(logits, keep))


def test_k_is_at_least_one() -> None:
    with pytest.raises(ConfigError, match="top_k: k must be at least 1, but is 0"):
        TopK(0)
