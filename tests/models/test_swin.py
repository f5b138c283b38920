"""Swin against its formula; tests/interop/test_picture_folder.py compares it with transformers."""

import pytest
import torch

from regard.attention.positions.grid import GridTable, neighbor_bias
from regard.base.errors import ConfigError
from regard.layers.block import Block
from regard.models.swin import Merging, Swin

SIZES = {"channels": 1, "height": 16, "width": 16, "classes": 3}


@pytest.mark.parametrize(("preset", "weights"), [("tiny", 28_288_354), ("small", 49_606_258), ("base", 87_768_224)])
def test_published_sizes(preset: str, weights: int) -> None:
    """The parameters of the published Swin-T, S and B with 1,000 classes."""
    with torch.device("meta"):
        model = Swin.preset(preset).build({"channels": 3, "height": 224, "width": 224, "classes": 1000})
    assert sum(weight.numel() for weight in model.parameters()) == weights


def test_every_second_layer_is_shifted_and_skipping_rises() -> None:
    model = Swin(patch=1, tile=4, stage_layers=(2, 3), stage_heads=(3, 6), stochastic_depth=0.4).build(SIZES)
    blocks = [block for stage in model.stages for block in stage.blocks]  # type: ignore[union-attr]
    assert all(isinstance(block, Block) for block in blocks)
    assert [block.mixer.design.shift for block in blocks] == [0, 2, 0, 2, 0]
    assert [block.residual.skip for block in blocks] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert [(stage.rows, stage.width) for stage in model.stages] == [(16, 48), (8, 96)]


def test_four_neighbors_merge() -> None:
    layer = Merging(2).double()
    cells = torch.randn(1, 3, 4, 2).double()
    found = layer(cells)
    assert list(found.shape) == [1, 4, 4]
    wide = torch.cat([cells, torch.zeros(1, 1, 4, 2).double()], 1)
    four = torch.cat([wide[0, 0, 2], wide[0, 1, 2], wide[0, 0, 3], wide[0, 1, 3]])
    torch.testing.assert_close(found[0, 1], layer.reduction(layer.norm(four)))


def test_what_does_not_fit_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="stage_heads must be as many as stage_layers, 2, but are 1"):
        Swin(stage_heads=(3,))
    with pytest.raises(ConfigError, match="must be 1 or more in each stage"):
        Swin(stage_layers=(0, 2))
    with pytest.raises(ConfigError, match="must be a multiple of heads"):
        Swin(stage_heads=(5, 5)).build(SIZES)
    with pytest.raises(ConfigError, match="feedforward_ratio and norm_epsilon must be above 0"):
        Swin(feedforward_ratio=0.0)
    with pytest.raises(ConfigError, match="is no attention layer"):
        Swin().build(SIZES).sight("head")


def test_sight_puts_shifted_tiles_back() -> None:
    model = Swin(patch=2, tile=4, width=12).build(SIZES)
    sight = model.sight("stages.0.blocks.1.tiled_attention.attention")
    assert (sight.rows, sight.columns, list(sight.cells.shape)) == (8, 8, [4, 16])
    assert sight.cells[0].tolist()[:5] == [18, 19, 20, 21, 26]


def test_relative_bias_may_begin_with_neighbors() -> None:
    model = Swin(patch=1, tile=4, stage_layers=(2, 1), stage_heads=(3, 6), relative_bias="neighbors").build(SIZES)
    first, second, last = (table for table in model.modules() if isinstance(table, GridTable))
    assert torch.equal(first.weight, neighbor_bias(3, first.layout))
    assert torch.equal(second.weight, neighbor_bias(3, second.layout, 3))
    assert torch.equal(last.weight, neighbor_bias(6, last.layout))
    model(torch.randn(1, 1, 16, 16)).sum().backward()
    assert first.weight.grad is not None
