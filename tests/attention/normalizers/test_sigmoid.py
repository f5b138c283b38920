import math

import numpy as np
import pytest
import torch

from regard.attention.normalizers.sigmoid import Sigmoid


@pytest.mark.parametrize("shift", [0.0, -math.log(5), 2.0])
def test_is_the_formula(shift: float) -> None:
    logits = torch.randn(3, 5, dtype=torch.float64)
    np.testing.assert_allclose(Sigmoid(shift)(logits).numpy(), 1 / (1 + np.exp(-(logits.numpy() + shift))), rtol=1e-13)


def test_keys_do_not_compete() -> None:
    logits = torch.randn(1, 5)
    other = logits.clone()
    other[0, 0] = 9.0
    assert torch.equal(Sigmoid()(logits)[:, 1:], Sigmoid()(other)[:, 1:])
