"""The loss of classification against its formula in float64, and that consistency asks a model that learns twice."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.base.errors import ConfigError
from regard.tasks.class_loss import ClassLoss, disagreement


def answers(*given: Tensor) -> Callable[[], Tensor]:
    """A model that gives these logits in turn, and fails when it is asked once more."""
    left = list(given)
    return lambda: left.pop(0)


@pytest.fixture
def logits() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(3)
    first, second = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64)
    return first, second


def divergence(p: list[float], q: list[float]) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_one_label_is_the_formula(logits: tuple[Tensor, Tensor]) -> None:
    labels = torch.tensor([0, 3, 1, 1, 2])
    each, shown = ClassLoss(consistency=0.7).read(answers(*logits), labels, learning=True)
    assert shown is logits[0]
    for row, label in enumerate(labels.tolist()):
        p, q = (one[row].softmax(0).tolist() for one in logits)
        mean = -(math.log(p[label]) + math.log(q[label])) / 2
        assert float(each[row]) == pytest.approx(mean + 0.7 * (divergence(p, q) + divergence(q, p)) / 2, rel=1e-12)


def test_several_labels_are_the_formula(logits: tuple[Tensor, Tensor]) -> None:
    labels = torch.randint(0, 2, (5, 4), generator=torch.Generator().manual_seed(1)).bool()
    each, _ = ClassLoss(consistency=2.0).read(answers(*logits), labels, learning=True)
    for row in range(5):
        wanted = 0.0
        for a, b, yes in zip(*(one[row].sigmoid().tolist() for one in logits), labels[row].tolist(), strict=True):
            wanted -= (math.log(a if yes else 1 - a) + math.log(b if yes else 1 - b)) / 2
            p, q = [a, 1 - a], [b, 1 - b]
            wanted += 2.0 * (divergence(p, q) + divergence(q, p)) / 2
        assert float(each[row]) == pytest.approx(wanted, rel=1e-12)


def test_smoothing_and_unseen_classes_in_both_readings(logits: tuple[Tensor, Tensor]) -> None:
    labels, smoothed = torch.tensor([0, 9, 1, 4, 2]), ClassLoss(smoothing=0.2)
    parts = [smoothed.read(answers(one), labels, learning=False)[0] for one in logits]
    each, _ = ClassLoss(smoothing=0.2, consistency=1.0).read(answers(*logits), labels, learning=True)
    torch.testing.assert_close(each, (parts[0] + parts[1]) / 2 + disagreement(*logits, several=False))
    assert parts[0][1] == parts[0][3] == 0


@pytest.mark.parametrize("several", [False, True])
def test_equal_readings_agree(logits: tuple[Tensor, Tensor], several: bool) -> None:
    one = logits[0].clone().requires_grad_()
    apart = disagreement(one, one.detach().clone(), several=several)
    apart.sum().backward()
    assert not apart.any() and one.grad is not None and one.grad.abs().max() < 1e-15
    assert (disagreement(*logits, several=several) > 0).all()


@pytest.mark.parametrize(("consistency", "learning"), [(0.0, True), (1.0, False)])
def test_a_model_is_asked_once_where_nothing_is_compared(
    logits: tuple[Tensor, Tensor], consistency: float, learning: bool
) -> None:
    labels = torch.tensor([0, 3, 1, 1, 2])
    each, _ = ClassLoss(consistency=consistency).read(answers(logits[0]), labels, learning=learning)
    torch.testing.assert_close(each, torch.nn.functional.cross_entropy(logits[0], labels, reduction="none"))


@pytest.mark.parametrize("wrong", [-0.1, math.nan, math.inf])
def test_wrong_consistency_is_refused(wrong: float) -> None:
    with pytest.raises(ConfigError, match="consistency must be at least 0, and finite"):
        ClassLoss(consistency=wrong)
