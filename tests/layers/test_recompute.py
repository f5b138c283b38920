import torch
from torch import nn

from regard.attention.multihead import Attention
from regard.base.chance import drawing
from regard.layers.block import Block
from regard.layers.feeds.plain import Plain
from regard.layers.recompute import recomputed, worth_recomputing
from regard.layers.residual import Residual
from regard.layers.stack import Stack


def stack() -> Stack:
    torch.manual_seed(1)
    residual = Residual(dropout=0.3)
    return Stack.of(2, lambda at: Block(8, mixer=Attention(heads=2), feed=Plain(16), residual=residual)).double()


def gradients(made: Stack, x: torch.Tensor) -> list[torch.Tensor]:
    with drawing(7):
        loss = made(x).square().sum()
        found = torch.autograd.grad(loss, [x, *made.parameters()], retain_graph=True)
        again = torch.autograd.grad(loss, [x, *made.parameters()])
    assert all(map(torch.equal, found, again))
    return list(found)


def test_recomputing_changes_no_number_also_with_dropout() -> None:
    x = torch.randn(2, 5, 8, dtype=torch.float64, requires_grad=True)
    plain = gradients(stack(), x)
    made = stack()
    made.recompute = "layers"
    assert all(map(torch.equal, gradients(made, x), plain))


def test_inner_activations_are_computed_twice_and_not_stored() -> None:
    calls, stored = [], []

    def inner(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return (x * 2).tanh().exp().tanh()

    x = torch.randn(5, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: (stored.append(1), kept)[1], lambda kept: kept):
        loss = recomputed(inner, x).sum()
    assert len(calls) == 1
    assert len(stored) == 1  # its input
    loss.backward()
    assert len(calls) == 2


def test_a_layer_that_is_watched_is_not_computed_twice() -> None:
    layer = nn.Linear(2, 2)
    assert worth_recomputing(layer)
    handle = layer.register_forward_hook(lambda *given: None)
    assert not worth_recomputing(layer)
    handle.remove()
    with torch.no_grad():
        assert not worth_recomputing(layer)
