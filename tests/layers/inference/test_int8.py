"""Products of whole numbers: near the exact ones, and the same in any company."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from regard.base import probe, processor
from regard.base.errors import UsageError
from regard.layers.inference.int8 import Int8Linear

needs_int8 = pytest.mark.usefixtures("int8")


def by_the_formula(linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """The docstring's formula, in exact arithmetic."""
    weight, x = linear.weight.detach().double(), x.double()
    weight_scale = weight.abs().amax(1, keepdim=True) / 63
    scale = x.abs().amax(1, keepdim=True) / 127
    made = (x / scale).round() @ (weight / weight_scale).round().T * scale * weight_scale.T
    return made if linear.bias is None else made + linear.bias.detach().double()


@needs_int8
@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False])
def test_it_is_near_the_formula_and_the_exact_product(bias: bool) -> None:
    linear, x = nn.Linear(64, 200, bias), torch.randn(9, 64) * torch.logspace(-3, 3, 9)[:, None]
    made = Int8Linear(linear)(x)
    size = linear(x).abs().amax(1, keepdim=True)
    assert ((made - by_the_formula(linear, x)).abs() / size).max() < 1e-3
    assert ((made - linear(x)).abs() / size).max() < 0.03


@needs_int8
@torch.inference_mode()
def test_a_row_is_the_same_in_any_company() -> None:
    linear = Int8Linear(nn.Linear(64, 200))
    x = torch.randn(30, 64)
    together = linear(torch.cat([x, 1000 * torch.randn(5, 64)]))[:30]
    for row in range(0, 30, 7):
        assert torch.equal(linear(x[row : row + 1])[0], together[row])


@needs_int8
@torch.inference_mode()
def test_shapes_are_kept_and_zeros_stay_zeros() -> None:
    linear = Int8Linear(nn.Linear(8, 5, bias=False))
    assert linear(torch.zeros(2, 3, 8)).shape == (2, 3, 5)
    assert not linear(torch.zeros(2, 3, 8)).any()


def test_other_devices_are_refused() -> None:
    with pytest.raises(UsageError, match="int8 needs a CPU"):
        Int8Linear(nn.Linear(4, 4, device="meta"))


def test_a_processor_that_cannot_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "refusal", lambda kind: f"the {kind} product ends the process")
    with pytest.raises(UsageError, match="precision: the int8 product ends the process; use float32"):
        Int8Linear(nn.Linear(4, 4))


@needs_int8
@torch.inference_mode()
def test_what_is_tried_of_a_processor_is_what_is_computed_here() -> None:
    class Used(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.names: set[str] = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            self.names |= {str(func)} if "onednn" in str(func) else set()
            return func(*args, **(kwargs or {}))

    with Used() as here:
        Int8Linear(nn.Linear(8, 5))(torch.ones(2, 8))
    with Used() as tried:
        probe.int8()
    assert here.names == tried.names
    assert len(here.names) == 2
