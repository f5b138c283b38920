"""bias(i, j) = weight[h, row(i) - row(j), column(i) - column(j)]

Liu et al., Swin Transformer, 2021, https://arxiv.org/abs/2103.14030
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes
from regard.attention.position import Bias, distances, from_table
from regard.base.errors import ShapeError, check_at_least


@dataclass(frozen=True)
class Grid(Bias):
    """A learned bias for each offset in rows and columns of a picture whose cells are numbered row by row.

    A shift of everything by whole rows changes nothing; one that wraps around the picture's edge does.
    """

    rows: int
    """the height of the picture, or of a tile"""
    columns: int
    """the width of the picture, or of a tile"""
    across: int | None = None
    """the width of the whole picture, where tiles of rows × columns mask what is farther apart"""
    relative = True

    def __post_init__(self) -> None:
        check_at_least("grid", 1, rows=self.rows, columns=self.columns)
        check_at_least("grid", self.columns, across=self.columns if self.across is None else self.across)

    def build(self, sizes: Sizes) -> "GridTable":
        return GridTable(sizes.heads, self)

    def step(self, query_at: Tensor, key_at: Tensor) -> Tensor:
        """The number of the step from key to query, [query, key] or [batch, 1, query, key]."""
        across = self.columns if self.across is None else self.across
        if self.across is None:
            for name, at in (("query", query_at), ("key", key_at)):
                if at.numel() and int(at.max()) >= self.rows * self.columns:
                    raise ShapeError(
                        f"grid: a {name} stands at {int(at.max())}, "
                        f"but {self.rows} rows of {self.columns} end at {self.rows * self.columns - 1}"
                    )
        down = distances(query_at // across, key_at // across).clamp(1 - self.rows, self.rows - 1)
        right = distances(query_at % across, key_at % across).clamp(1 - self.columns, self.columns - 1)
        return (down + self.rows - 1) * (2 * self.columns - 1) + right + self.columns - 1


class GridTable(PerHead, Bias):
    """The learned numbers, [heads, steps]."""

    relative = True

    def __init__(self, heads: int, layout: Grid) -> None:
        super().__init__()
        self.layout = layout
        steps = (2 * layout.rows - 1) * (2 * layout.columns - 1)
        self.weight = nn.Parameter(torch.empty(heads, steps).normal_(std=0.02))

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        return from_table(self.weight, self.layout.step(query_at, key_at))


_NEIGHBORS = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1))


def neighbor_bias(heads: int, layout: Grid, first: int = 0) -> Float[Tensor, "heads steps"]:
    """A bias by which each head attends to another of the eight neighbors, -|step - its neighbor|².

    The first head takes the neighbor number `first`. So attention begins as a convolution, as in d'Ascoli et al.,
    ConViT, 2021, https://arxiv.org/abs/2103.10697, and has to learn less about where things are.
    """
    down, right = torch.arange(1 - layout.rows, layout.rows), torch.arange(1 - layout.columns, layout.columns)
    chosen = torch.tensor([_NEIGHBORS[(first + head) % len(_NEIGHBORS)] for head in range(heads)])
    apart = (down[None] + chosen[:, :1]).square()[:, :, None] + (right[None] + chosen[:, 1:]).square()[:, None]
    return -apart.flatten(1).float()
