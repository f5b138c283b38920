import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError
from regard.layers.low_rank import LowRank, merged
from regard.training.tunings.adapters import Adapters
from tests.training.test_tuning import encoder


@pytest.mark.parametrize(("maps", "each"), [("attention", 2), ("all", 4)])
def test_layers_have_adapters_that_merge_into_them(maps: str, each: int) -> None:
    model, plain = encoder(dropout=0.0), encoder(dropout=0.0)
    names = set(plain.state_dict())
    Adapters(rank=2, maps=maps).prepare(model, ())  # type: ignore[arg-type]
    assert sum(isinstance(part, LowRank) for part in model.modules()) == 2 * each
    learning = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert all(name.startswith("head.") or name.endswith((".up", ".down")) for name in learning)
    tokens, lengths = torch.randint(4, 12, (3, 5)), torch.tensor([5, 2, 4])
    torch.testing.assert_close(model.eval()(tokens, lengths), plain.eval()(tokens, lengths))
    with torch.no_grad():
        for part in model.modules():
            if isinstance(part, LowRank):
                part.up.normal_(std=0.5)
    weights = merged(model.state_dict())
    assert set(weights) == names
    expected = model(tokens, lengths)
    plain.load_state_dict(weights)
    torch.testing.assert_close(plain(tokens, lengths), expected)
    torch.testing.assert_close(model.train()(tokens, lengths), expected)


def test_mistakes() -> None:
    with pytest.raises(ConfigError, match="a Linear has no layers that adapters fit into"):
        Adapters().prepare(nn.Linear(2, 2), ())
    for settings, words in (
        ({"rank": 0}, "rank must be at least 1"),
        ({"alpha": 0.0}, "alpha must be more than 0"),
        ({"dropout": 1.0}, "dropout must be at least 0"),
    ):
        with pytest.raises(ConfigError, match=words):
            Adapters(**settings)  # type: ignore[arg-type]
