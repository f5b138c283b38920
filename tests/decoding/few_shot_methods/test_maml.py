"""MAML's gradient is that of finite differences and of torch.func."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad

from regard.base.config import from_dict
from regard.base.errors import ConfigError
from regard.decoding.few_shot_methods.maml import Maml

from .small import WAYS, episode, network


def after_steps(model: nn.Module, weights: dict[str, torch.Tensor], steps: int, rate: float) -> torch.Tensor:
    """The loss of the queries after steps on the support, by torch.func, as a function of the weights."""
    support, labels, query, wanted = episode()

    def support_loss(now: dict[str, torch.Tensor]) -> torch.Tensor:
        return F.cross_entropy(functional_call(model, now, (support,)), labels)

    for _ in range(steps):
        slopes = grad(support_loss)(weights)
        weights = {name: weight - rate * slopes[name] for name, weight in weights.items()}
    return F.cross_entropy(functional_call(model, weights, (query,)), wanted, reduction="sum")


def test_the_meta_gradient_of_maml_is_that_of_finite_differences() -> None:
    model, method, step = network(), Maml(steps=3, rate=0.4), 1e-5
    total, _ = method.loss(model, *episode(), WAYS)
    total.backward()
    for weight in model.parameters():
        found = weight.grad
        assert found is not None
        for at in range(weight.numel()):
            ends = []
            for sign in (1, -1):
                with torch.no_grad():
                    weight.view(-1)[at] += sign * step
                    ends.append(float(method.loss(model, *episode(), WAYS)[0]))
                    weight.view(-1)[at] -= sign * step
            assert float(found.view(-1)[at]) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("steps", [1, 4])
def test_maml_is_that_of_torch_func(steps: int) -> None:
    model, own = network(), {name: weight.detach() for name, weight in network().named_parameters()}
    total, _ = Maml(steps=steps, rate=0.3).loss(model, *episode(), WAYS)
    total.backward()
    assert float(total) == pytest.approx(float(after_steps(model, own, steps, 0.3)), rel=1e-12)
    expected = grad(lambda weights: after_steps(model, weights, steps, 0.3))(own)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight.grad, expected[name], rtol=1e-10, atol=1e-12)


def test_first_order_maml_is_the_gradient_at_the_adapted_weights() -> None:
    model, method = network(), Maml(steps=2, rate=0.3, order="first")
    support, labels, query, wanted = episode()
    total, _ = method.loss(model, support, labels, query, wanted, WAYS)
    total.backward()
    moved = network()
    for _ in range(2):
        moved.zero_grad()
        F.cross_entropy(moved(support), labels).backward()
        with torch.no_grad():
            for weight in moved.parameters():
                weight -= 0.3 * weight.grad
    moved.zero_grad()
    F.cross_entropy(moved(query), wanted, reduction="sum").backward()
    for ours, theirs in zip(model.parameters(), moved.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-10, atol=1e-12)


def test_settings_are_checked() -> None:
    for bad in ({"steps": 0}, {"rate": 0.0}, {"order": "third"}):
        with pytest.raises(ConfigError):
            from_dict(bad, Maml)
