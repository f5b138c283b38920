import pytest
import torch
from torch import nn

from regard.layers.low_rank import LowRank, merged


def adapted(rank: int = 3, alpha: float = 6.0, dropout: float = 0.0) -> tuple[nn.Linear, LowRank]:
    torch.manual_seed(1)
    linear = nn.Linear(5, 7).double()
    before = nn.Linear(5, 7).double()
    before.load_state_dict(linear.state_dict())
    layer = LowRank(linear, rank, alpha, dropout)
    return before, layer


def test_an_adapter_changes_nothing_at_first() -> None:
    before, layer = adapted()
    x = torch.randn(2, 4, 5, dtype=torch.float64)
    torch.testing.assert_close(layer(x), before(x))
    assert {name for name, weight in layer.named_parameters() if weight.requires_grad} == {"down", "up"}


def test_the_formula_in_training_and_evaluation_and_merged() -> None:
    before, layer = adapted()
    with torch.no_grad():
        layer.up.normal_()
    x = torch.randn(3, 5, dtype=torch.float64)
    matrix = before.weight.detach().clone()
    for out in range(7):
        for into in range(5):
            matrix[out, into] += 6.0 / 3 * sum(layer.up[out, r] * layer.down[r, into] for r in range(3)).detach()
    expected = x @ matrix.T + before.bias
    for mode in (True, False):
        torch.testing.assert_close(layer.train(mode)(x), expected)
    weights = merged({f"a.{name}": tensor for name, tensor in layer.state_dict().items()} | {"b.down": x})
    assert set(weights) == {"a.weight", "a.bias", "b.down"}
    torch.testing.assert_close(weights["a.weight"], matrix)
    torch.testing.assert_close(layer.weight.detach(), matrix)


@pytest.mark.parametrize("mode", [True, False])
def test_gradients_reach_the_adapter_alone(mode: bool) -> None:
    _, layer = adapted(dropout=0.5 if mode else 0.0)
    with torch.no_grad():
        layer.up.normal_()
    layer.train(mode)(torch.randn(3, 5, dtype=torch.float64)).sum().backward()
    assert layer.frozen.grad is None and layer.bias.grad is None
    assert layer.down.grad is not None and layer.up.grad is not None
