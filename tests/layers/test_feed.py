import pytest
import torch

from regard.base.errors import ConfigError
from regard.layers.feed import FEEDS, Feed
from regard.layers.feeds.experts import Experts
from regard.layers.feeds.gated import Gated
from regard.layers.feeds.plain import Plain


def test_a_file_is_a_feed() -> None:
    assert FEEDS.names == ("experts", "gated", "plain")
    assert FEEDS.make({"name": "gated", "activation": "silu"}) == Gated(activation="silu")
    assert FEEDS.make("plain(hidden=7)") == Plain(7)


@pytest.mark.parametrize("name", FEEDS.names)
def test_every_feed_works_at_each_position_by_itself(name: str) -> None:
    feed: Feed = FEEDS.make(name)
    layer = feed.filled(hidden=6, activation="tanh", dropout=0.0).build(4, 5).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    output = layer(x)
    assert output.shape == (2, 3, 5)
    torch.testing.assert_close(layer(x[1, 2]), output[1, 2])
    assert feed.build(4)(torch.randn(2, 4)).shape == (2, 4)


def test_what_is_left_open_is_filled() -> None:
    open_feed, own = Plain(), Plain(hidden=3, activation="silu", dropout=0.5)
    filled = open_feed.filled(hidden=9, activation="gelu", dropout=0.1)
    assert filled == Plain(9, "gelu", 0.1)
    assert own.filled(hidden=9, activation="gelu", dropout=0.1) == own
    mixed = Experts(expert=Gated(activation="relu")).filled(hidden=9, activation="gelu", dropout=0.1)
    assert mixed.expert == Gated(9, "relu", 0.1)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"hidden": 0}, "gated: hidden must be at least 1, but is 0"),
        ({"dropout": 1.0}, "gated: dropout must be at least 0 and below 1"),
        ({"activation": "rellu"}, r"gated.activation: unknown 'rellu' \(did you mean 'relu'\?\)"),
    ],
)
def test_settings_out_of_range_are_refused(unchecked: None, settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Gated(**settings)  # type: ignore[arg-type]
