"""Reptile's gradient is the way back from the weights of the episode."""

import pytest
import torch
import torch.nn.functional as F

from regard.decoding.few_shot_methods.reptile import Reptile

from .small import WAYS, episode, network


def test_reptile_moves_toward_the_weights_of_the_episode() -> None:
    model, method = network(), Reptile(steps=4, rate=0.2)
    support, labels, query, wanted = episode()
    total, right = method.loss(model, support, labels, query, wanted, WAYS)
    total.backward()
    moved, both, true = network(), torch.cat((support, query)), torch.cat((labels, wanted))
    for _ in range(4):
        moved.zero_grad()
        F.cross_entropy(moved(both), true).backward()
        with torch.no_grad():
            for weight in moved.parameters():
                weight -= 0.2 * weight.grad
    for ours, theirs in zip(model.parameters(), moved.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, len(query) * (ours - theirs).detach(), rtol=1e-10, atol=1e-12)
    assert float(total) == pytest.approx(float(F.cross_entropy(moved(query), wanted, reduction="sum")), rel=1e-12)
    assert float(right) == float((moved(query).argmax(1) == wanted).sum())
