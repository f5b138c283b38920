import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError
from regard.models.bert import Bert
from regard.training.optimizer import set_rate
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon
from regard.training.tuning import TUNINGS, fix_all_but_head, is_head, scale_rates


def encoder(**settings: object) -> nn.Module:
    torch.manual_seed(2)
    return Bert(layers=2, width=8, heads=2, **settings).build({"text": 12, "classes": 3})  # type: ignore[arg-type]


def test_the_choices() -> None:
    assert list(TUNINGS) == ["adapters", "all", "frozen"]


def test_heads() -> None:
    assert is_head("head.outer.weight", ()) and is_head("output.bias", ()) and is_head("x", ("x",))
    assert not is_head("encoder.layers.0.norm.weight", ("x",))
    with pytest.raises(ConfigError, match="frozen needs a head that learns, which a Linear lacks"):
        fix_all_but_head(nn.Linear(2, 2), (), "frozen")


@pytest.mark.parametrize("optimizer", [Adam(), Muon()])
def test_each_weight_learns_at_its_share_of_the_rate(optimizer: Adam | Muon) -> None:
    model = encoder()
    names = dict(model.named_parameters())
    rates = {weight: 0.5 if name.startswith("encoder.layers.0") else 0.25 for name, weight in names.items()}
    del rates[names["head.outer.weight"]]
    optimizers = optimizer.build(model)
    scale_rates(optimizers, rates)
    set_rate(optimizers, 0.1)
    found = {weight: group["lr"] for one in optimizers for group in one.param_groups for weight in group["params"]}
    assert set(found) == set(names.values())
    for weight in names.values():
        assert found[weight] == pytest.approx(0.1 * rates.get(weight, 1.0))


def test_without_shares_nothing_is_split() -> None:
    model = encoder()
    plain, scaled = Adam().build(model), Adam().build(model)
    scale_rates(scaled, {})
    assert [len(one.param_groups) for one in plain] == [len(one.param_groups) for one in scaled]
