"""keep(i, j) = (i - j) mod stride = 0

Child et al., Sparse Transformers, 2019, https://arxiv.org/abs/1904.10509: there joined with a window,
`Window(stride) | Strided(stride)`, and `& Causal()`.
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Strided(Mask):
    """Every `stride`-th position, counted from its own: a column of a text laid out in rows."""

    stride: int
    """the distance between the positions that are seen"""

    def __post_init__(self) -> None:
        check_at_least("strided", 1, stride=self.stride)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return (rows - columns) % self.stride == 0

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        nearest, farthest = rows.low - columns.high, rows.high - columns.low
        some = farthest // self.stride * self.stride >= nearest
        return Sight(some, some & ((nearest == farthest) | (self.stride == 1)))

    def group(self, at: Tensor) -> Tensor:
        return at % self.stride
