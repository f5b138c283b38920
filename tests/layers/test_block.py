import pytest
import torch
from torch import Tensor, nn

from regard.attention.masks.causal import Causal
from regard.attention.multihead import Attention
from regard.layers.block import Block

SIZES = {"attention": Attention(heads=2, mask=Causal()), "feedforward": 12}


def norm(x: Tensor) -> Tensor:
    """What a fresh LayerNorm does."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt()


@pytest.mark.parametrize("place", ["before", "after"])
def test_residuals_and_norms(place: str) -> None:
    block = Block(8, **SIZES, cross=Attention(heads=2), source_width=6, norm=place).double()
    x, source = torch.randn(2, 3, 8, dtype=torch.float64), torch.randn(2, 5, 6, dtype=torch.float64)
    keep = (torch.arange(5) < torch.tensor([[5], [2]]))[:, None, None]
    branches = [block.self_attention, lambda y: block.cross(y, source, keep=keep), block.feedforward]
    expected = x
    for branch in branches:
        expected = expected + branch(norm(expected)) if place == "before" else norm(expected + branch(expected))
    torch.testing.assert_close(block(x, source=source, source_keep=keep), expected)


@pytest.mark.parametrize("place", ["before", "after"])
def test_where_widths_differ_the_residual_is_projected(place: str) -> None:
    block = Block(8, **SIZES, output_width=10, norm=place).double()
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    output = block(x)
    assert output.shape == (2, 3, 10)
    nn.init.zeros_(block.feedforward.outer.weight)
    nn.init.zeros_(block.self_attention.output.weight)
    projected = (x if place == "before" else norm(x)) @ block.shortcut.weight.T
    torch.testing.assert_close(block(x), projected if place == "before" else norm(projected))
    assert Block(8, **SIZES).shortcut is None


@pytest.mark.parametrize("place", ["before", "after"])
def test_step_by_step_with_rows_that_share_a_source(place: str) -> None:
    block = Block(8, **SIZES, cross=Attention(heads=2), norm=place).double()
    x, source = torch.randn(6, 4, 8, dtype=torch.float64), torch.randn(2, 5, 8, dtype=torch.float64)
    keep = torch.arange(5) < torch.tensor([[5], [2]])
    whole = block(
        x, source=source.repeat_interleave(3, dim=0), source_keep=keep.repeat_interleave(3, dim=0)[:, None, None]
    )
    memory, shared = block.self_attention.start(), block.cross.remember(source, keep)
    for t in range(4):
        output, memory = block.advance(x[:, t : t + 1], memory, shared, sentences=2)
        torch.testing.assert_close(output[:, 0], whole[:, t])
