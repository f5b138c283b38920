"""The padding mask: keep(i, j) = j < length of the sequence"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """Hides the padding of a batch: what lies beyond the end of each sequence."""

    lengths: Tensor
    """the length of each sequence, [batch]"""
    keys_only = True

    def __post_init__(self) -> None:
        if self.lengths.dim() != 1 or self.lengths.is_floating_point():
            found = f"{list(self.lengths.shape)} of {self.lengths.dtype}"
            raise ShapeError(f"padding: lengths must be whole numbers of shape [batch], but are {found}")

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return columns < self.lengths.to(columns.device)[:, None, None, None]

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        shape = torch.broadcast_shapes(rows.low.shape, columns.low.shape)
        shortest, longest = self.lengths.aminmax()
        return Sight((columns.low < longest).expand(shape), (columns.high < shortest).expand(shape))
