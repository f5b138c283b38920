"""Laws for models of sets: no order counts, padding is not seen, and an empty set has an answer."""

from typing import Any

import pytest
import torch

from regard.models.model import Design
from regard.models.set_model import SetModel

from . import writers
from .designs import designs, offering

every = pytest.mark.parametrize("design", offering(SetModel, designs()))
LENGTHS = torch.tensor([6, 2, 4])
SETS = torch.randn(3, 6, writers.VOCABULARY, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
ORDER = torch.tensor([3, 0, 5, 2, 1, 4])
TOLERANCE = 1e-12


def made(design: Design) -> Any:
    return writers.stirred(design)


@every
def test_the_order_of_elements_changes_the_order_of_features_and_nothing_else(design: Design) -> None:
    """F(P X) = P F(X), and pooled(P X) = pooled(X)."""
    model, whole = made(design), torch.full((3,), 6)
    features, _ = model.encode(SETS, whole)
    moved, _ = model.encode(SETS[:, ORDER], whole)
    torch.testing.assert_close(moved, features[:, ORDER], atol=TOLERANCE, rtol=TOLERANCE)
    torch.testing.assert_close(model(SETS[:, ORDER], whole), model(SETS, whole), atol=TOLERANCE, rtol=TOLERANCE)


@every
def test_in_single_precision_within_a_millionth(design: Design) -> None:
    model, whole, single = writers.made(design, torch.float32), torch.full((3,), 6), SETS.float()
    before, after = model(single, whole), model(single[:, ORDER], whole)
    assert (before - after).abs().max() <= 1e-6 * max(1.0, float(before.abs().max()))
    padded = torch.cat((single, torch.full((3, 2, writers.VOCABULARY), 9.0)), 1)
    assert (model(padded, whole) - before).abs().max() <= 1e-6 * max(1.0, float(before.abs().max()))


@every
def test_a_set_in_company_is_a_set_alone(design: Design) -> None:
    """A batch of one, a batch of several, more padding, other numbers in it: the same output."""
    model = made(design)
    together = model(SETS, LENGTHS)
    noisy = torch.where((torch.arange(6) < LENGTHS[:, None])[:, :, None], SETS, 7.0)
    torch.testing.assert_close(model(torch.cat((noisy, noisy), 1)[:, :9], LENGTHS), together)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(model(SETS[row : row + 1, :length], LENGTHS[row : row + 1])[0], together[row])


@every
def test_an_empty_set_has_an_answer_and_finite_gradients(design: Design) -> None:
    model = made(design)
    output = model(SETS, torch.tensor([6, 0, 4]))
    assert output.isfinite().all()
    torch.testing.assert_close(output[1], model(SETS[:1, :1], torch.tensor([0]))[0])
    output.sum().backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())
