from typing import get_args

import pytest
import torch

from regard.layers.activation import ACTIVATIONS, Activation, activated


def test_every_name_has_a_function() -> None:
    assert set(get_args(Activation)) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", sorted(ACTIVATIONS.keys() - {"sigmoid"}))
def test_zero_stays_in_its_place(name: str) -> None:
    assert ACTIVATIONS[name](torch.zeros(1)).item() == 0


def test_activations_against_their_definitions() -> None:
    x = torch.linspace(-3, 3, 31, dtype=torch.float64)
    exact = x * (1 + torch.erf(x / 2**0.5)) / 2
    torch.testing.assert_close(ACTIVATIONS["gelu"](x), exact)
    torch.testing.assert_close(ACTIVATIONS["gelu_tanh"](x), exact, atol=1e-3, rtol=0)
    torch.testing.assert_close(ACTIVATIONS["silu"](x), x / (1 + (-x).exp()))
    torch.testing.assert_close(ACTIVATIONS["sigmoid"](x), 1 / (1 + (-x).exp()))
    torch.testing.assert_close(ACTIVATIONS["relu"](x), x.clamp(min=0))
    torch.testing.assert_close(ACTIVATIONS["tanh"](x), 2 / (1 + (-2 * x).exp()) - 1)
    assert ACTIVATIONS["identity"](x) is x


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_without_gradients_it_may_be_written_over_its_input(name: str) -> None:
    x = torch.randn(5, 7)
    expected, given = ACTIVATIONS[name](x), x.clone()
    assert torch.equal(activated(name, given), expected) and torch.equal(given, x)
    with torch.no_grad():
        torch.testing.assert_close(activated(name, given[:, 1:6]), expected[:, 1:6])
    assert torch.equal(given[:, 0], x[:, 0])
