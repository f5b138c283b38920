import math

import numpy as np
import pytest
import torch

from regard.layers.feeds.gated import Gated

GATES = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2,
    "relu": lambda x: np.maximum(x, 0),
    "identity": lambda x: x,
}


@pytest.mark.parametrize("activation", GATES)
def test_the_formula_in_numpy(activation: str) -> None:
    layer = Gated(6, activation).build(4, 5).double()
    torch.nn.init.normal_(layer.inner.bias)
    torch.nn.init.normal_(layer.outer.bias)
    x = np.random.default_rng(0).normal(size=(3, 4))
    weights, biases = layer.inner.weight.detach().numpy(), layer.inner.bias.detach().numpy()
    gate, hidden = x @ weights[:6].T + biases[:6], x @ weights[6:].T + biases[6:]
    outer = layer.outer.weight.detach().numpy(), layer.outer.bias.detach().numpy()
    expected = (GATES[activation](gate) * hidden) @ outer[0].T + outer[1]
    np.testing.assert_allclose(layer(torch.from_numpy(x)).detach().numpy(), expected, rtol=0, atol=1e-12)


def test_swiglu_unless_set_and_as_many_weights_with_two_thirds() -> None:
    assert Gated().build(4).activation == "silu"
    matrices = [weight for weight in Gated(64).build(24).parameters() if weight.dim() > 1]
    assert sum(weight.numel() for weight in matrices) == 2 * 24 * 96
    assert "silu" in repr(Gated().build(4))


def test_both_halves_start_like_matrices_of_their_own() -> None:
    layer = Gated(50).build(100)
    limit = (6 / 150) ** 0.5
    for half in layer.inner.weight.chunk(2):
        assert 0.9 * limit < half.abs().max() <= limit
    assert not layer.inner.bias.any()


def test_dropout_acts_inside() -> None:
    layer = Gated(1000, dropout=0.5).build(4).train()
    x = torch.randn(3, 4)
    assert not torch.equal(layer(x), layer(x))
    assert torch.equal(layer.eval()(x), layer(x))
