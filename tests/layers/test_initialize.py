import pytest
import torch
from torch import nn

from regard.layers.initialize import normal, xavier


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
    normal(taps, 0.02)
    assert taps.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_normal_makes_the_ends_of_branches_smaller() -> None:
    module = nn.ModuleDict({"inner": nn.Linear(200, 400), "outer": nn.Linear(400, 200)})
    normal(module, 0.02, ("outer",), branches=4)
    assert module["inner"].weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert module["outer"].weight.std().item() == pytest.approx(0.01, rel=0.05)
    assert not module["outer"].bias.any()
