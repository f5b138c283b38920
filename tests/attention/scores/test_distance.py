import numpy as np
import pytest
import torch

from regard.attention.core import attend
from regard.attention.normalizers.softmax import Softmax
from regard.attention.scores.distance import Distance
from regard.base.errors import ConfigError


@pytest.mark.parametrize("reach", [1.0, 2.5])
def test_is_the_formula(reach: float) -> None:
    query, key = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 6, 5, dtype=torch.float64)
    apart = query.numpy()[..., :, None, :] - key.numpy()[..., None, :, :]
    expected = -(apart**2).sum(-1) / (2 * reach**2)
    np.testing.assert_allclose(Distance(reach)(query, key).numpy(), expected, rtol=1e-12)


def test_an_exact_match_scores_zero_and_nothing_scores_more() -> None:
    key = torch.randn(1, 1, 6, 5)
    logits = Distance()(key, key)[0, 0]
    assert not logits.diagonal().any()
    assert (logits <= 0).all()


def test_under_a_softmax_it_is_kernel_regression() -> None:
    x, y = np.linspace(0, 3, 8), np.sin(np.linspace(0, 3, 8))
    wanted = np.array([0.4, 2.2])
    kernel = np.exp(-((wanted[:, None] - x) ** 2) / (2 * 0.5**2))
    expected = kernel @ y / kernel.sum(-1)
    query, key, value = (torch.tensor(side).view(1, 1, -1, 1) for side in (wanted, x, y))
    output = attend(query, key, value, score=Distance(0.5), normalizer=Softmax()).output
    np.testing.assert_allclose(output.flatten().numpy(), expected, rtol=1e-12)


def test_reach_is_above_zero() -> None:
    with pytest.raises(ConfigError, match=r"distance: reach must be above 0, but is 0\.0"):
        Distance(0.0)
