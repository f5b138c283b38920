"""The same product with weights that were laid out beforehand."""

import pytest
import torch
from torch import nn

from regard.layers.inference.prepacked import Prepacked, fits
from regard.layers.output import ScaledOutput


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 64), (5, 64), (3, 7, 64), (300, 64)])
def test_it_is_the_linear_map(shape: tuple[int, ...], bias: bool) -> None:
    linear, x = nn.Linear(64, 300, bias), torch.randn(*shape)
    with torch.inference_mode():
        torch.testing.assert_close(Prepacked(linear)(x), linear(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("rows", [1, 3, 300])
def test_a_scaled_output_stays_one(rows: int) -> None:
    output, x = ScaledOutput(64, 300, bias=True, scale=0.25), torch.randn(rows, 64)
    torch.testing.assert_close(Prepacked(output)(x), output(x))
    with torch.inference_mode():
        torch.testing.assert_close(Prepacked(output)(x), output(x), atol=1e-5, rtol=1e-5)


def test_gradients_go_through_the_weights_themselves() -> None:
    linear = nn.Linear(8, 5)
    ours = Prepacked(linear)
    assert ours.weight is linear.weight
    ours(torch.ones(2, 8)).sum().backward()
    torch.testing.assert_close(linear.weight.grad, torch.full((5, 8), 2.0))


def test_other_numbers_than_float32_are_left_to_torch() -> None:
    linear = Prepacked(nn.Linear(8, 5).double())
    assert not fits(linear)
    with torch.inference_mode():
        assert linear(torch.ones(2, 8, dtype=torch.float64)).dtype == torch.float64
