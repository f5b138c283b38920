import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError, RegardError
from regard.training.optimizer import OPTIMIZERS, Optimizer, Optimizers, moments, restore_moments, set_rate, take_step
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon

EACH = pytest.mark.parametrize("chosen", [Adam(), Muon()])


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def learn(net: nn.Module, optimizers: Optimizers, steps: range) -> None:
    """Some steps; the gradients of the last are left to be looked at."""
    for step in steps:
        torch.manual_seed(step)
        net.zero_grad()
        net(torch.randn(5, 3)).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()


def test_all_optimizers_are_tried_here() -> None:
    assert OPTIMIZERS.names == ("adam", "muon")


@EACH
def test_every_weight_has_one_optimizer(chosen: Optimizer) -> None:
    net = model()
    owned = [id(weight) for one in chosen.build(net) for group in one.param_groups for weight in group["params"]]
    assert sorted(owned) == sorted(map(id, net.parameters()))


@EACH
def test_frozen_weights_are_left_out(chosen: Optimizer) -> None:
    net = model()
    net[0].weight.requires_grad_(False)
    owned = {weight for one in chosen.build(net) for group in one.param_groups for weight in group["params"]}
    assert owned == {weight for weight in net.parameters() if weight.requires_grad}
    for weight in net.parameters():
        weight.requires_grad_(False)
    with pytest.raises(RegardError, match="no weights to learn"):
        chosen.build(net)


@EACH
def test_a_step_uses_up_the_gradients(chosen: Optimizer) -> None:
    net = model()
    optimizers = chosen.build(net)
    before = [weight.detach().clone() for weight in net.parameters()]
    net(torch.randn(5, 3)).square().mean().backward()
    take_step(optimizers)
    assert not any(torch.equal(weight, was) for weight, was in zip(net.parameters(), before, strict=True))
    assert all(weight.grad is None for weight in net.parameters())


@EACH
def test_moments_are_restored_bit_by_bit(chosen: Optimizer) -> None:
    whole, stopped, resumed = model(), model(), model()
    learn(whole, chosen.build(whole), range(6))
    first = chosen.build(stopped)
    learn(stopped, first, range(3))
    resumed.load_state_dict(stopped.state_dict())
    second = chosen.build(resumed)
    kept = {name: tensor.clone() for name, tensor in moments(first, stopped).items()}
    restore_moments(second, resumed, kept)
    assert kept.keys() == moments(second, resumed).keys()
    learn(resumed, second, range(3, 6))
    assert all(torch.equal(tensor, whole.state_dict()[name]) for name, tensor in resumed.state_dict().items())
    assert torch.equal(kept["step/0.bias"], torch.tensor(3.0))


@EACH
def test_the_rate_is_set_everywhere(chosen: Optimizer) -> None:
    optimizers = chosen.build(model())
    set_rate(optimizers, 0.25)
    assert {group["lr"] for optimizer in optimizers for group in optimizer.param_groups} == {0.25}


@pytest.mark.parametrize("kind", [Adam, Muon])
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be more than 0"),
        ({"betas": (0.9, 1.0)}, "betas must be at least 0 and below 1"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0"),
    ],
)
def test_settings_out_of_range_are_named(kind: type[Optimizer], wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        kind(**wrong)
