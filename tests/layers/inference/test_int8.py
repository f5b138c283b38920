"""Products of whole numbers: near the exact ones, and the same in any company."""

import pytest
import torch
from torch import nn

from regard.base.errors import UsageError
from regard.layers.inference.int8 import Int8Linear

needs_onednn = pytest.mark.skipif(
    not hasattr(torch.ops.onednn, "qlinear_pointwise"), reason="needs a torch with oneDNN's int8 products"
)


def by_the_formula(linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """The docstring's formula, in exact arithmetic."""
    weight, x = linear.weight.detach().double(), x.double()
    weight_scale = weight.abs().amax(1, keepdim=True) / 63
    scale = x.abs().amax(1, keepdim=True) / 127
    made = (x / scale).round() @ (weight / weight_scale).round().T * scale * weight_scale.T
    return made if linear.bias is None else made + linear.bias.detach().double()


@needs_onednn
@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_near_the_formula_and_the_exact_product(bias: bool) -> None:
    linear, x = nn.Linear(64, 200, bias), torch.randn(9, 64) * torch.logspace(-3, 3, 9)[:, None]
    made = Int8Linear(linear)(x)
    size = linear(x).abs().amax(1, keepdim=True)
    assert ((made - by_the_formula(linear, x)).abs() / size).max() < 1e-3
    assert ((made - linear(x)).abs() / size).max() < 0.03


@needs_onednn
@torch.inference_mode()
def test_a_row_is_the_same_in_any_company() -> None:
    linear = Int8Linear(nn.Linear(64, 200))
    x = torch.randn(30, 64)
    together = linear(torch.cat([x, 1000 * torch.randn(5, 64)]))[:30]
    for row in range(0, 30, 7):
        assert torch.equal(linear(x[row : row + 1])[0], together[row])


@needs_onednn
@torch.inference_mode()
def test_shapes_are_kept_and_zeros_stay_zeros() -> None:
    linear = Int8Linear(nn.Linear(8, 5, bias=False))
    assert linear(torch.zeros(2, 3, 8)).shape == (2, 3, 5)
    assert not linear(torch.zeros(2, 3, 8)).any()


def test_other_devices_are_refused() -> None:
    with pytest.raises(UsageError, match="int8 needs a CPU"):
        Int8Linear(nn.Linear(4, 4, device="meta"))
