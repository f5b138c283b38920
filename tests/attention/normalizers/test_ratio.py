import numpy as np
import torch

from regard.attention.normalizers.ratio import Ratio


def test_is_the_formula() -> None:
    logits = torch.rand(3, 5, dtype=torch.float64)
    expected = logits.numpy() / logits.numpy().sum(-1, keepdims=True)
    np.testing.assert_allclose(Ratio()(logits).numpy(), expected, rtol=1e-14)


def test_zeros_have_no_share_and_no_gradient_that_is_not_finite() -> None:
    logits = torch.zeros(2, 4, requires_grad=True)
    weights = Ratio()(logits)
    weights.sum().backward()
    assert not weights.any()
    assert logits.grad.isfinite().all()
