import pytest
import torch
from torch import nn

from regard.attention.masks.causal import Causal
from regard.attention.multihead import Attention
from regard.attention.record import attention_layers
from regard.base.errors import ConfigError
from regard.layers.block import Block
from regard.layers.feeds.plain import Plain
from regard.layers.mixers.convolution import Convolution
from regard.layers.residual import Residual
from regard.layers.rms_norm import RmsNorm
from regard.layers.stack import Stack


def stack(place: str = "before", cross: bool = True) -> Stack:
    reads, mixer = Attention(heads=2) if cross else None, Attention(heads=2, mask=Causal())
    residual = Residual(place=place)
    return Stack.of(3, lambda at: Block(8, mixer=mixer, cross=reads, feed=Plain(12), residual=residual)).double()


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
        Stack([])


def test_layers_that_differ_are_made_for_their_numbers() -> None:
    design = Convolution(growth=2, view="past")
    layers = Stack.of(3, lambda at: Block(8, mixer=design.in_layer(at), feed=Plain(12)))
    assert [block.mixer.reach for block in layers.blocks] == [2, 4, 8]


def test_the_last_norm_is_of_the_layers_kind() -> None:
    residual = Residual(norm="rms")
    layers = Stack.of(
        1, lambda at: Block(8, mixer=Attention(heads=2), feed=Plain(12), residual=residual, output_width=6)
    )
    assert type(layers.norm) is RmsNorm
    assert layers(torch.randn(2, 3, 8)).shape == (2, 3, 6)


@pytest.mark.parametrize("place", ["before", "after"])
def test_segments_that_recall_equal_one_long_pass_where_windows_allow(place: str) -> None:
    """A window of 3: each layer needs the last 2 inputs before a segment, and no more change anything."""
    mixer = Attention(heads=2, mask=Causal(), positions="transformer_xl", memory="rolling(3)")
    residual = Residual(place=place)
    layers = Stack.of(2, lambda at: Block(8, mixer=mixer, feed=Plain(12), residual=residual)).double()
    x = torch.randn(2, 10, 8, dtype=torch.float64)
    whole, inputs = layers.recall(x)
    torch.testing.assert_close(whole, layers(x))
    assert [part.shape[1] for part in inputs] == [10, 10]
    for only, part in zip(layers.inputs(x), inputs, strict=True):  # without the last layer
        torch.testing.assert_close(only, part, rtol=0, atol=1e-12)
    for kept in (2, 5):
        outputs, before = [], ()
        for segment in x.split(3, dim=1):
            output, seen = layers.recall(segment, before)
            outputs.append(output)
            before = tuple(part[:, -kept:] for part in seen)
        torch.testing.assert_close(torch.cat(outputs, 1), whole, rtol=0, atol=1e-12)
