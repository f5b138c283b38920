import pytest
import torch
from torch import nn

from regard.attention.masks.causal import Causal
from regard.attention.multihead import Attention
from regard.attention.record import attention_layers
from regard.base.errors import ConfigError
from regard.layers.block import Block
from regard.layers.stack import Stack


def stack(norm: str = "before", cross: bool = True) -> Stack:
    reads = Attention(heads=2) if cross else None
    blocks = [
        Block(8, attention=Attention(heads=2, mask=Causal()), cross=reads, feedforward=12, norm=norm) for _ in range(3)
    ]
    return Stack(blocks, 8).double()


def test_layers_follow_each_other_and_a_norm_ends_them() -> None:
    layers = stack(cross=False)
    x = torch.randn(2, 4, 8, dtype=torch.float64)
    expected = x
    for block in layers.blocks:
        expected = block(expected)
    torch.testing.assert_close(layers(x), layers.norm(expected))
    assert isinstance(layers.norm, nn.LayerNorm)
    assert isinstance(stack("after").norm, nn.Identity)


@pytest.mark.parametrize("norm", ["before", "after"])
def test_step_by_step_is_all_at_once(norm: str) -> None:
    layers = stack(norm)
    x, source = torch.randn(2, 4, 8, dtype=torch.float64), torch.randn(2, 5, 8, dtype=torch.float64)
    keep = torch.arange(5) < torch.tensor([[5], [2]])
    whole = layers(x, source=source, source_keep=keep[:, None, None])
    memories, sources = layers.start(), layers.remember(source, keep)
    for t in range(4):
        output, memories = layers.advance(x[:, t : t + 1], memories, sources, sentences=2)
        torch.testing.assert_close(output[:, 0], whole[:, t])


def test_attentions_are_found_by_name() -> None:
    names = [f"layers.{at}.{kind}" for at in range(3) for kind in ("self_attention", "cross")]
    assert sorted(attention_layers(stack())) == sorted(names)


def test_a_stack_of_nothing() -> None:
    with pytest.raises(ConfigError, match="at least 1 layer"):
        Stack([], 8)
