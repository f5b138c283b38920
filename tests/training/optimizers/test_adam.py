import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError
from regard.training.optimizers.adam import Adam
from tests.training.test_optimizer import learn, model


def test_it_follows_its_formula() -> None:
    net = model()
    chosen = Adam(learning_rate=0.1, betas=(0.8, 0.9), epsilon=1e-6, weight_decay=0.05)
    optimizers = chosen.build(net)
    layer = net[0]
    assert isinstance(layer, nn.Linear)
    weight, bias = layer.weight.detach().double(), layer.bias.detach().double()
    sums = [(torch.zeros_like(weight), torch.zeros_like(weight)), (torch.zeros_like(bias), torch.zeros_like(bias))]
    for step in range(1, 5):
        learn(net, optimizers, range(step, step + 1))
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
    (optimizer,) = Adam(weight_decay=0.3).build(model())
    found = [(group["weight_decay"], {one.dim() for one in group["params"]}) for group in optimizer.param_groups]
    assert found == [(0.3, {2}), (0.0, {1})]


def test_an_l2_penalty_is_added_to_the_gradient_of_matrices() -> None:
    nets = [model(), model()]
    (penalized,), (plain,) = Adam(l2=0.3).build(nets[0]), Adam().build(nets[1])
    for net in nets:
        torch.manual_seed(2)
        for weight in net.parameters():
            weight.grad = torch.randn_like(weight)
    for weight in nets[1].parameters():
        if weight.dim() > 1:
            weight.grad.add_(weight.detach(), alpha=0.3)  # type: ignore[union-attr]
    penalized.step()
    plain.step()
    for one, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_one_kind_of_decay_is_enough() -> None:
    with pytest.raises(ConfigError, match="adam: set l2 or weight_decay, not both"):
        Adam(l2=0.1, weight_decay=0.1)
