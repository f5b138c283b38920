"""Few-shot methods learn an episode, and adapt also where gradients are off."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from regard.decoding.few_shot_method import FEW_SHOT_METHODS, Adapting
from regard.decoding.few_shot_methods.maml import Maml
from tests.decoding.few_shot_methods.small import WAYS, episode, network


def test_adapting_helps_where_gradients_are_off() -> None:
    model, method = network(), Maml(steps=20, rate=1.0)
    support, labels, *_ = episode()
    assert not Adapting.compares
    with torch.inference_mode():
        told = method.logits(model, support, labels, support, WAYS)
    assert F.cross_entropy(told, labels) < F.cross_entropy(model(support), labels)
    assert all(weight.grad is None for weight in model.parameters())


@pytest.mark.parametrize("name", FEW_SHOT_METHODS.names)
def test_every_method_learns_an_episode(name: str) -> None:
    """Trained on one episode, each method tells it."""
    method: Any = FEW_SHOT_METHODS.make(name)
    model = network(4 if method.compares else WAYS).float()
    draw = torch.Generator().manual_seed(3)
    middles = torch.randn(WAYS, 1, 2, 2, generator=draw)
    labels, wanted = torch.arange(WAYS).repeat(2), torch.arange(WAYS).repeat_interleave(3)
    support = middles[labels] + 0.1 * torch.randn(6, 1, 2, 2, generator=draw)
    query = middles[wanted] + 0.1 * torch.randn(9, 1, 2, 2, generator=draw)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(150):
        optimizer.zero_grad()
        (method.loss(model, support, labels, query, wanted, WAYS)[0] / len(query)).backward()
        optimizer.step()
    with torch.no_grad():
        assert int(method.loss(model, support, labels, query, wanted, WAYS)[1]) == len(query)
