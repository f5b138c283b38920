from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.attention.multihead import Attention
from regard.layers.block import Block
from regard.layers.feed import FEEDS
from regard.layers.feeds.plain import Plain
from regard.layers.mixer import MIXERS
from regard.layers.mixers.convolution import Convolution
from regard.layers.residual import Residual
from regard.layers.rms_norm import RmsNorm

PARTS: dict[str, Any] = {"mixer": Attention(heads=2, mask=Causal()), "feed": Plain(12)}


def double(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64)


def norm(x: Tensor) -> Tensor:
    """What a fresh LayerNorm does."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("scale", [1.0, 1.7])
def test_residuals_and_norms(place: str, scale: float) -> None:
    residual = Residual(place=place, scale=scale)
    block = Block(8, **PARTS, cross=Attention(heads=2), source_width=6, residual=residual).double()
    x, source = double(2, 3, 8), double(2, 5, 6)
    keep = (torch.arange(5) < torch.tensor([[5], [2]]))[:, None, None]
    branches = [block.mixer, lambda y: block.cross(y, source, keep=keep), block.feed]
    expected = x
    for branch in branches:
        scaled = scale * expected
        expected = scaled + branch(norm(expected)) if place == "before" else norm(scaled + branch(expected))
    torch.testing.assert_close(block(x, source=source, source_keep=keep), expected)


def test_the_root_mean_square_norm() -> None:
    block = Block(8, **PARTS, residual=Residual(norm="rms")).double()
    expected = x = double(2, 3, 8)
    for branch in (block.mixer, block.feed):
        expected = expected + branch(expected / (expected.square().mean(-1, keepdim=True) + 1e-6).sqrt())
    torch.testing.assert_close(block(x), expected)
    assert all(type(one) is RmsNorm for one in block.norms.values())


@pytest.mark.parametrize("place", ["before", "after"])
def test_where_widths_differ_the_residual_is_projected(place: str) -> None:
    block = Block(8, **PARTS, output_width=10, residual=Residual(place=place)).double()
    x = double(2, 3, 8)
    output = block(x)
    assert output.shape == (2, 3, 10)
    nn.init.zeros_(block.feedforward.outer.weight)
    nn.init.zeros_(block.self_attention.output.weight)
    projected = (x if place == "before" else norm(x)) @ block.shortcut.weight.T
    torch.testing.assert_close(block(x), projected if place == "before" else norm(projected))
    assert Block(8, **PARTS).shortcut is None


@pytest.mark.parametrize("mixer", MIXERS.names)
@pytest.mark.parametrize("feed", FEEDS.names)
@pytest.mark.parametrize("residual", [Residual(), Residual(norm="rms", place="after", scale=1.5)])
def test_step_by_step_with_rows_that_share_a_source(mixer: str, feed: str, residual: Residual) -> None:
    mixing = MIXERS.make(mixer).causal()
    block = Block(8, mixer=mixing, feed=FEEDS.make(feed), cross=Attention(heads=2), residual=residual).double()
    x, source = double(6, 4, 8), double(2, 5, 8)
    keep = torch.arange(5) < torch.tensor([[5], [2]])
    whole = block(
        x, source=source.repeat_interleave(3, dim=0), source_keep=keep.repeat_interleave(3, dim=0)[:, None, None]
    )
    memory, shared = block.mixer.start(), block.cross.remember(source, keep)
    for t in range(4):
        output, memory = block.advance(x[:, t : t + 1], memory, shared, sentences=2)
        torch.testing.assert_close(output[:, 0], whole[:, t])


def test_masks_and_positions_come_with_the_batch() -> None:
    block = Block(8, mixer=Attention(heads=2), feed=Plain(12)).double()
    x, lengths = double(2, 4, 8), torch.tensor([4, 2])
    keep = (torch.arange(4) < lengths[:, None])[:, None, None]
    torch.testing.assert_close(block(x, keep=Padding(lengths)), block(x, keep=keep))
    order = torch.tensor([2, 0, 3, 1])
    causal = Block(8, **PARTS).double()
    torch.testing.assert_close(causal(x[:, order], at=order), causal(x)[:, order])


def test_branches_are_dropped_and_skipped_in_training() -> None:
    x = torch.randn(64, 2, 8)
    block = Block(8, **PARTS, residual=Residual(skip=0.5))
    assert torch.equal(block.eval()(x), block(x))
    unchanged = (block.train()(x) == x).flatten(1).all(1)
    assert 4 <= unchanged.sum() <= 30  # both branches of a sequence are left out in a quarter of them
    dropping = Block(8, **PARTS, residual=Residual(dropout=0.5)).train()
    assert not torch.equal(dropping(x), dropping(x))


def test_weights_are_named_after_what_they_are() -> None:
    names = {name.split(".")[0] for name in Block(8, **PARTS, cross=Attention(heads=2)).state_dict()}
    assert names == {"self_attention", "cross", "feedforward", "norms"}
    block = Block(8, mixer=Convolution(), feed=Plain())
    assert {name.split(".")[0] for name in block.state_dict()} == {"convolution", "feedforward", "norms"}
    assert list(block.norms) == ["convolution", "feedforward"]
    assert block.mixer is block.convolution
    assert block.feed is block.feedforward
