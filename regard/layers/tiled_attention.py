"""Attention within the tiles (windows) of a picture, which every second layer shifts.

    cells of a tile see each other; tiles that the shift moves over the border are cut in two there

Liu et al., Swin Transformer, 2021, https://arxiv.org/abs/2103.14030. The picture is rolled by the shift and folded, so
that tiles are rows of a batch; who may look where is what `regard.attention.masks.tiles` says of the cells.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.masks.tiles import Tiles
from regard.attention.multihead import Attention
from regard.attention.positions.grid import Grid
from regard.base.errors import CombinationError, check_at_least
from regard.layers.mixer import Mixer


@dataclass(frozen=True, kw_only=True)
class TiledAttention(Mixer):
    """Settings: the grid of cells, the tiles, and the attention inside them, which gets a bias for each step."""

    rows: int
    columns: int
    size: int
    """the side of a tile in cells; on a smaller grid, the grid's shorter side"""
    shift: int = 0
    """by how many cells tiles are moved down and right; none where one tile spans the shorter side"""
    attention: Attention = field(default_factory=Attention)

    def __post_init__(self) -> None:
        check_at_least("tiled_attention", 1, rows=self.rows, columns=self.columns, size=self.size)
        if min(self.rows, self.columns) <= self.size:
            object.__setattr__(self, "size", min(self.rows, self.columns))
            object.__setattr__(self, "shift", 0)

    def build(self, width: int) -> "TiledMixing":
        return TiledMixing(self, width)

    def causal(self) -> Self:
        raise CombinationError("tiled_attention: pictures are seen at once, so it is not for decoders")


class TiledMixing(nn.Module):
    """The attention layer, and how the picture is folded."""

    def __init__(self, design: TiledAttention, width: int) -> None:
        super().__init__()
        self.design, size = design, design.size
        self.attention = replace(design.attention, positions=Grid(size, size)).build(width)
        self.height, self.across = (-(-side // size) * size for side in (design.rows, design.columns))
        at = self.folded(torch.arange(self.height * self.across).view(1, self.height, self.across, 1))[..., 0]
        self.register_buffer("at", at, persistent=False)
        apart = Tiles(size, design.shift, columns=self.across)(at, at) if design.shift else None
        self.register_buffer("apart", apart, persistent=False)

    at: Tensor
    apart: Tensor | None

    def forward(
        self, x: Float[Tensor, "batch cells width"], *, keep: Tensor | Mask | None = None, at: Tensor | None = None
    ) -> Float[Tensor, "batch cells width"]:
        """Attention in each tile; cells that fill up the last tiles are zeros, and are seen, as in the paper's code."""
        if keep is not None or at is not None:
            raise CombinationError("tiled_attention: it takes no further mask and no positions")
        rows, columns = self.design.rows, self.design.columns
        cells = x.unflatten(1, (rows, columns))
        if (rows, columns) != (self.height, self.across):
            cells = F.pad(cells, (0, 0, 0, self.across - columns, 0, self.height - rows))
        apart = None if self.apart is None else self.apart.repeat(len(x), 1, 1, 1)
        read = self.attention(self.folded(cells), keep=apart)
        return self.unfolded(read)[:, :rows, :columns].flatten(1, 2)

    def folded(self, cells: Tensor) -> Tensor:
        """[batch, height, width, …] as tiles, [batch · tiles, slots, …]."""
        size, shift = self.design.size, self.design.shift
        cells = cells.roll((-shift, -shift), (1, 2)) if shift else cells
        tiles = cells.unflatten(2, (-1, size)).unflatten(1, (-1, size)).transpose(2, 3)
        return tiles.reshape(-1, size * size, cells.shape[-1])

    def unfolded(self, tiles: Tensor) -> Tensor:
        """The other way round."""
        size, shift = self.design.size, self.design.shift
        parts = tiles.reshape(-1, self.height // size, self.across // size, size, size, tiles.shape[-1])
        cells = parts.transpose(2, 3).reshape(-1, self.height, self.across, tiles.shape[-1])
        return cells.roll((shift, shift), (1, 2)) if shift else cells

    def cells(self) -> Int64[Tensor, "tiles slots"]:
        """The cell of the picture in each slot of each tile; -1 where a slot only fills up its tile."""
        row, column = self.at // self.across, self.at % self.across
        inside = (row < self.design.rows) & (column < self.design.columns)
        return torch.where(inside, row * self.design.columns + column, -1)

    def start(self) -> Any:
        """Pictures are seen at once."""
        raise CombinationError("tiled_attention: pictures are seen at once, so it does not go step by step")

    def advance(self, x: Tensor, memory: Any) -> tuple[Tensor, Any]:
        """Pictures are seen at once."""
        return x, self.start()
