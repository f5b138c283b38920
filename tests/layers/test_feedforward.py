import pytest
import torch

from regard.base.errors import ConfigError
from regard.layers.feedforward import ACTIVATIONS, FeedForward


def test_the_formula() -> None:
    layer = FeedForward(4, 7).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    first, second = layer.inner, layer.outer
    expected = (x @ first.weight.T + first.bias).clamp(min=0) @ second.weight.T + second.bias
    torch.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_keeps_zero_in_its_place(activation: str) -> None:
    assert ACTIVATIONS[activation](torch.zeros(1)).item() == 0
    assert FeedForward(4, 7, 5, activation)(torch.randn(2, 4)).shape == (2, 5)


def test_activations_against_their_definitions() -> None:
    x = torch.linspace(-3, 3, 31, dtype=torch.float64)
    exact = x * (1 + torch.erf(x / 2**0.5)) / 2
    torch.testing.assert_close(ACTIVATIONS["gelu"](x), exact)
    torch.testing.assert_close(ACTIVATIONS["gelu_tanh"](x), exact, atol=1e-3, rtol=0)
    torch.testing.assert_close(ACTIVATIONS["silu"](x), x / (1 + (-x).exp()))


def test_a_width_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="feedforward: hidden must be at least 1, but is 0"):
        FeedForward(4, 0)


def test_dropout_acts_inside() -> None:
    layer = FeedForward(4, 1000, dropout=0.5).train()
    x = torch.randn(3, 4)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    assert "relu" in repr(layer)
