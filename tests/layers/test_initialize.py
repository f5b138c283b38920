import pytest
import torch
from torch import nn

from regard.attention.multihead import Attention
from regard.layers.block import Block
from regard.layers.feeds.experts import Experts
from regard.layers.initialize import normal, shrink, xavier


def test_xavier_bounds_and_zero_biases() -> None:
    module = nn.Sequential(nn.Linear(200, 400), nn.Linear(400, 200, bias=False))
    xavier(module)
    bound = (6 / 600) ** 0.5
    for linear in module:
        assert linear.weight.abs().max() <= bound
        assert linear.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert torch.equal(module[0].bias, torch.zeros(400))


def test_convolutions_start_like_linear_maps() -> None:
    taps = nn.Conv1d(50, 100, 3)
    xavier(taps)
    bound = (6 / (3 * 150)) ** 0.5
    assert 0.99 * bound < taps.weight.abs().max() <= bound
    assert not taps.bias.any()


def test_normal_makes_the_ends_of_branches_smaller() -> None:
    module = nn.ModuleDict({"inner": nn.Linear(200, 400), "outer": nn.Linear(400, 200)})
    normal(module, 0.02, ("outer",), branches=4)
    assert module["inner"].weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert module["outer"].weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert not module["outer"].bias.any()


def test_only_feeds_values_and_outputs_are_shrunk() -> None:
    torch.manual_seed(2)
    block = Block(8, mixer=Attention(heads=2), feed=Experts(2, 1), cross=Attention(heads=2))
    before = {name: weight.clone() for name, weight in block.state_dict().items()}
    shrink(block, 0.5)
    for name, weight in block.state_dict().items():
        whole = name.endswith((".inner.weight", ".outer.weight", "output.weight"))
        shrunk = weight.shape[0] if whole else 8 if name.endswith(("joint.weight", "source.weight")) else 0
        kept = weight.shape[0] - shrunk if weight.dim() else 0
        assert torch.equal(weight[:kept], before[name][:kept])
        assert torch.equal(weight[kept:], before[name][kept:] * 0.5)
