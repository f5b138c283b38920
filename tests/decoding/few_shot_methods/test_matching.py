"""Matching by attention, by a loop."""

import math

import pytest
import torch.nn.functional as F

from regard.base.errors import ConfigError
from regard.decoding.few_shot_methods.matching import Matching

from .small import WAYS, episode, network


def test_matching_is_attention_over_the_support() -> None:
    model = network(4)
    support, labels, query, _ = episode()
    found = Matching(temperature=0.5).logits(model, support, labels, query, WAYS).exp()
    shown, asked = (F.normalize(model(part), dim=1).detach() for part in (support, query))
    for at in range(len(query)):
        weights = [math.exp(float(asked[at] @ shown[row]) / 0.5) for row in range(6)]
        for way in range(WAYS):
            own = sum(weight for weight, label in zip(weights, labels.tolist(), strict=True) if label == way)
            assert float(found[at, way]) == pytest.approx(own / sum(weights), rel=1e-9)
    found.sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_the_temperature_is_checked() -> None:
    with pytest.raises(ConfigError, match="temperature must be more than 0"):
        Matching(temperature=0.0)
