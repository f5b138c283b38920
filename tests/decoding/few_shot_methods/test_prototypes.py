"""Prototypes, by a loop."""

import pytest
import torch
import torch.nn.functional as F

from regard.decoding.few_shot_methods.prototypes import Prototypes

from .small import WAYS, episode, network


def test_prototypes_are_means() -> None:
    model = network(4)
    support, labels, query, wanted = episode()
    found = Prototypes().logits(model, support, labels, query, WAYS)
    shown, asked = model(support), model(query)
    for at in range(len(query)):
        for way in range(WAYS):
            mean = torch.stack([shown[row] for row in range(6) if int(labels[row]) == way]).mean(0)
            assert float(found[at, way]) == pytest.approx(-float(((asked[at] - mean) ** 2).sum()), rel=1e-10)
    total, _ = Prototypes().loss(model, support, labels, query, wanted, WAYS)
    assert float(total) == pytest.approx(float(F.cross_entropy(found, wanted, reduction="sum")))
