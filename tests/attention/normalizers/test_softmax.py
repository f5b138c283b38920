import numpy as np
import torch

from regard.attention.normalizers.softmax import Softmax


def test_is_the_formula() -> None:
    logits = torch.randn(3, 5, dtype=torch.float64)
    powers = np.exp(logits.numpy())
    np.testing.assert_allclose(Softmax()(logits).numpy(), powers / powers.sum(-1, keepdims=True), rtol=1e-13)


def test_forbidden_logits_are_minus_infinity() -> None:
    logits, keep = torch.randn(4, 6, dtype=torch.float64), torch.rand(4, 6) < 0.6
    keep[:, 0] = True
    powers = np.where(keep.numpy(), np.exp(logits.numpy()), 0)
    np.testing.assert_allclose(Softmax()(logits, keep).numpy(), powers / powers.sum(-1, keepdims=True), rtol=1e-13)
