import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError, RegardError
from regard.training.optimizer import Adam, moments, restore_moments, set_rate


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))


def learn(net: nn.Module, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        torch.manual_seed(step)
        optimizer.zero_grad()
        net(torch.randn(5, 3)).square().mean().backward()
        optimizer.step()


def test_it_follows_its_formula() -> None:
    net = model()
    chosen = Adam(learning_rate=0.1, betas=(0.8, 0.9), epsilon=1e-6, weight_decay=0.05)
    optimizer = chosen.build(net)
    layer = net[0]
    assert isinstance(layer, nn.Linear)
    weight, bias = layer.weight.detach().double(), layer.bias.detach().double()
    sums = [(torch.zeros_like(weight), torch.zeros_like(weight)), (torch.zeros_like(bias), torch.zeros_like(bias))]
    for step in range(1, 5):
        learn(net, optimizer, range(step, step + 1))
        after = []
        for (first, second), value, leaf, decay in zip(
            sums, (weight, bias), (layer.weight, layer.bias), (0.05, 0.0), strict=True
        ):
            assert leaf.grad is not None
            first.mul_(0.8).add_(0.2 * leaf.grad)
            second.mul_(0.9).add_(0.1 * leaf.grad.double() ** 2)
            corrected = first / (1 - 0.8**step), second / (1 - 0.9**step)
            after.append(value - 0.1 * (corrected[0] / (corrected[1].sqrt() + 1e-6) + decay * value))
        weight, bias = after
        torch.testing.assert_close(layer.weight.double(), weight, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(layer.bias.double(), bias, rtol=1e-4, atol=1e-5)


def test_biases_and_norms_do_not_decay() -> None:
    groups = Adam(weight_decay=0.3).build(model()).param_groups
    assert [(group["weight_decay"], {weight.dim() for weight in group["params"]}) for group in groups] == [
        (0.3, {2}),
        (0.0, {1}),
    ]


def test_frozen_weights_are_left_out() -> None:
    net = model()
    for weight in net.parameters():
        weight.requires_grad_(False)
    with pytest.raises(RegardError, match="no weights to learn"):
        Adam().build(net)


def test_moments_are_restored_bit_by_bit() -> None:
    whole, stopped, resumed = model(), model(), model()
    learn(whole, Adam().build(whole), range(6))
    first = Adam().build(stopped)
    learn(stopped, first, range(3))
    resumed.load_state_dict(stopped.state_dict())
    second = Adam().build(resumed)
    kept = {name: tensor.clone() for name, tensor in moments(first, stopped).items()}
    restore_moments(second, resumed, kept)
    assert kept.keys() == moments(second, resumed).keys()
    learn(resumed, second, range(3, 6))
    assert all(torch.equal(tensor, whole.state_dict()[name]) for name, tensor in resumed.state_dict().items())
    assert torch.equal(kept["step/0.weight"], torch.tensor(3.0))


def test_the_rate_is_set_everywhere() -> None:
    optimizer = Adam().build(model())
    set_rate(optimizer, 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be more than 0"),
        ({"betas": (0.9, 1.0)}, "betas must be at least 0 and below 1"),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0"),
    ],
)
def test_settings_out_of_range_are_named(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Adam(**wrong)
