"""Learned position embeddings: p(i) = row i of a learned matrix

Gehring et al., 2017, https://arxiv.org/abs/1705.03122. Positions past the last row raise an error.
"""

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn

from regard.attention.part import Sizes
from regard.attention.position import Join, Layers, PositionVectors
from regard.base.errors import ShapeError, check_at_least, check_one_of


@dataclass(frozen=True)
class Learned(PositionVectors):
    """A learned embedding for each of `length` positions."""

    length: int
    """the number of positions; longer texts cannot be read"""
    join: Join = "add"
    layers: Layers = "first"
    width: int | None = None

    def __post_init__(self) -> None:
        check_at_least("learned", 1, length=self.length)
        check_one_of("learned", ("add", "concatenate"), join=self.join)
        check_one_of("learned", get_args(Layers), layers=self.layers)
        self.check("learned")

    def build(self, sizes: Sizes) -> "LearnedTable":
        added = sizes.width if self.layers == "first" else sizes.heads * sizes.query_width
        width = added if self.join == "add" else self.width or 0
        return LearnedTable(self.length, width, self.join, self.layers)


class LearnedTable(nn.Module, PositionVectors):
    """The matrix, [length, width]."""

    def __init__(self, length: int, width: int, join: Join = "add", layers: Layers = "first") -> None:
        super().__init__()
        self.join, self.layers, self.width = join, layers, width
        self.limit = length
        self.weight = nn.Parameter(torch.empty(length, width).normal_(std=0.02))

    def vectors(self, at: Tensor, width: int) -> Tensor:
        length, own = self.weight.shape
        if at.numel() and int(at.max()) >= length:
            raise ShapeError(
                f"learned positions: asked for position {int(at.max())}, but only 0 … {length - 1} were learned; "
                f"shorten the input, or use positions that go on, such as sinusoidal"
            )
        if width != own:
            raise ShapeError(f"learned positions: the vectors have width {own}, but are to be added to width {width}")
        return self.weight[at]
