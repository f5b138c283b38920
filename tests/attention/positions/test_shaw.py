import numpy as np
import pytest
import torch

from regard.attention.core import attend
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.positions.shaw import Shaw
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError

SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=3)


@pytest.mark.parametrize("reach", [1, 2, 20])
def test_is_the_double_loop_of_the_paper(reach: int) -> None:
    built = Shaw(reach).build(SIZES).double()
    with torch.no_grad():
        built.keys.normal_()
        built.values.normal_()
    query, key = torch.randn(2, 2, 5, 4, dtype=torch.float64), torch.randn(2, 2, 6, 4, dtype=torch.float64)
    value = torch.randn(2, 2, 6, 3, dtype=torch.float64)
    output = attend(query, key, value, score=ScaledDot(), normalizer=Softmax(), bias=built).output.detach().numpy()
    a, b = built.keys.detach().numpy(), built.values.detach().numpy()
    q, k, v = query.numpy(), key.numpy(), value.numpy()
    for batch, head, i in np.ndindex(2, 2, 5):
        step = [min(max(j - i, -reach), reach) + reach for j in range(6)]
        logits = np.array([q[batch, head, i] @ (k[batch, head, j] + a[step[j]]) / 2 for j in range(6)])
        weights = np.exp(logits) / np.exp(logits).sum()
        expected = sum(weights[j] * (v[batch, head, j] + b[step[j]]) for j in range(6))
        np.testing.assert_allclose(output[batch, head, i], expected, rtol=1e-10, atol=1e-12)


def test_the_scale_may_be_that_of_another_score() -> None:
    torch.manual_seed(5)
    own = Shaw(2, scale=1.0).build(SIZES)
    query, key, at = torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4), torch.arange(5)
    plain = Shaw(2).build(SIZES)
    plain.load_state_dict(own.state_dict())
    torch.testing.assert_close(own(query, key, at, at), plain(query, key, at, at) * 2)


def test_reach_is_at_least_one() -> None:
    with pytest.raises(ConfigError, match="shaw: reach must be at least 1, but is 0"):
        Shaw(0)
