import numpy as np
import torch

from regard.attention.scores.dot import Dot


def test_is_the_formula() -> None:
    query, key = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 6, 5, dtype=torch.float64)
    expected = np.einsum("bhid,bhjd->bhij", query.numpy(), key.numpy())
    np.testing.assert_allclose(Dot()(query, key).numpy(), expected, rtol=1e-12, atol=1e-12)
