"""Weights with their gradients, beside the fast kernel."""

import pytest
import torch
from torch import nn

from regard.attention.multihead import Attention
from regard.attention.watch import attention_layers, watch
from regard.base.errors import UsageError


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (Attention(heads=2).build(8) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x), x)


def by_hand(model: Two, x: torch.Tensor, head: int) -> torch.Tensor:
    """softmax(Q Kᵀ / √d) of the second layer, from its projections alone."""
    query = model.second.projections.of_query(model.first(x)).unflatten(-1, (2, 4))[:, :, head]
    key = model.second.projections.of_source(x)[0].unflatten(-1, (2, 4))[:, :, head]
    return (query @ key.transpose(1, 2) / 2).softmax(-1)


def test_weights_and_their_gradients_are_those_of_the_definition() -> None:
    model, x = Two().double(), torch.randn(3, 5, 8, dtype=torch.float64)
    wanted = torch.randn(3, 5, 5, dtype=torch.float64)
    with watch(model, {"second": [1]}) as seen:
        model(x)
    (weights,) = seen["second"]
    assert weights.shape == (3, 1, 5, 5)
    right = by_hand(model, x, 1)
    torch.testing.assert_close(weights[:, 0], right)
    names = [name for name, _ in model.named_parameters()]
    ours, theirs = (
        torch.autograd.grad((made * wanted).sum(), list(model.parameters()), allow_unused=True)
        for made in (weights[:, 0], right)
    )
    for name, one, other in zip(names, ours, theirs, strict=True):
        assert (one is None) == (other is None), name
        if one is not None and other is not None:
            torch.testing.assert_close(one, other)
    assert any(one is not None and one.abs().sum() > 0 for one in ours)


def test_nothing_stays_behind_and_every_call_is_seen() -> None:
    model, x = Two(), torch.randn(1, 3, 8)
    with watch(model, {"first": None}, within=torch.no_grad) as seen:
        model(x)
        model(x)
    model(x)
    assert [weights.shape for weights in seen["first"]] == [(1, 2, 3, 3)] * 2
    assert not any(weights.requires_grad for weights in seen["first"])
    assert not any(reading._forward_hooks for reading in attention_layers(model).values())


def test_a_layer_that_is_not_there_is_told() -> None:
    sentence = r"unknown 'frist' \(did you mean 'first'\?\); the model's attention layers are: first, second"
    with pytest.raises(UsageError, match=sentence), watch(Two(), {"frist": None}):
        pass
