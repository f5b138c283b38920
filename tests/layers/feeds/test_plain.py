import torch

from regard.layers.feeds.plain import Plain


def test_the_formula() -> None:
    layer = Plain(7).build(4).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    first, second = layer.inner, layer.outer
    expected = (x @ first.weight.T + first.bias).clamp(min=0) @ second.weight.T + second.bias
    torch.testing.assert_close(layer(x), expected)


def test_the_hidden_layer_is_four_times_as_wide_unless_set() -> None:
    assert Plain().build(4).inner.out_features == 16


def test_dropout_acts_inside() -> None:
    layer = Plain(1000, dropout=0.5).build(4).train()
    x = torch.randn(3, 4)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    assert "relu" in repr(layer)
