import torch

from regard.layers.perceptron import Perceptron


def test_layers_alternate_with_activations() -> None:
    made, x = Perceptron(3, 5, 4, 2, activation="gelu"), torch.randn(6, 3)
    first, second, third = made.layers
    gelu = torch.nn.functional.gelu
    torch.testing.assert_close(made(x), third(gelu(second(gelu(first(x))))))


def test_two_widths_are_one_linear_layer() -> None:
    made, x = Perceptron(3, 2), torch.randn(6, 3)
    torch.testing.assert_close(made(x), x @ made.layers[0].weight.T + made.layers[0].bias)
