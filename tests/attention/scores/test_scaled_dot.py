import numpy as np
import pytest
import torch

from regard.attention.scores.scaled_dot import ScaledDot


@pytest.mark.parametrize("scale", [None, 0.3])
def test_is_the_formula(scale: float | None) -> None:
    query, key = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 6, 5, dtype=torch.float64)
    expected = np.einsum("bhid,bhjd->bhij", query.numpy(), key.numpy())
    expected = expected / np.sqrt(5) if scale is None else expected * scale
    np.testing.assert_allclose(ScaledDot(scale)(query, key).numpy(), expected, rtol=1e-12, atol=1e-12)


def test_the_variance_stays_at_one_at_any_width() -> None:
    for width in (16, 256):
        logits = ScaledDot()(torch.randn(1, 1, 200, width), torch.randn(1, 1, 200, width))
        assert abs(logits.var().item() - 1) < 0.1
