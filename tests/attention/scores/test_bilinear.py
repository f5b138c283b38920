import numpy as np
import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.scores.bilinear import Bilinear
from regard.base.errors import UsageError


def test_is_the_formula_with_a_matrix_for_each_head() -> None:
    sizes = Sizes(width=8, heads=3, key_heads=3, query_width=5, key_width=4, value_width=2)
    score = Bilinear().build(sizes).double()
    query, key = torch.randn(2, 3, 4, 5, dtype=torch.float64), torch.randn(2, 3, 6, 4, dtype=torch.float64)
    weight = score.weight.detach().numpy()
    expected = np.einsum("bhid,hde,bhje->bhij", query.numpy(), weight, key.numpy())
    np.testing.assert_allclose(score(query, key).detach().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_starts_with_logits_of_variance_one() -> None:
    torch.manual_seed(3)
    score = Bilinear().build(Sizes(width=64, heads=4, key_heads=4, query_width=32, key_width=48, value_width=2))
    logits = score(torch.randn(2, 4, 60, 32), torch.randn(2, 4, 60, 48))
    assert abs(logits.var().item() - 1) < 0.2


def test_is_built_before_it_works() -> None:
    with pytest.raises(UsageError, match=r"Bilinear has weights: use Bilinear\(…\)\.build\(sizes\)"):
        Bilinear()(torch.randn(1, 1, 2, 3), torch.randn(1, 1, 2, 3))
