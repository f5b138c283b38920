"""Sliding window: keep(i, j) = -ahead ≤ i - j < size, by default with ahead = size - 1

Beltagy et al., Longformer, 2020, https://arxiv.org/abs/2004.05150
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Window(Mask):
    """The last `size` positions, its own included, and `ahead` later ones, by default as many as earlier ones."""

    size: int
    """how many positions back are seen, its own included"""
    ahead: int | None = None
    """how many later positions are seen; by default as many as earlier ones"""

    def __post_init__(self) -> None:
        check_at_least("window", 1, size=self.size)
        check_at_least("window", 0, ahead=0 if self.ahead is None else self.ahead)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        back = rows - columns
        return (back < self.size) & (back >= -self._ahead)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        nearest, farthest = rows.low - columns.high, rows.high - columns.low
        some = (nearest < self.size) & (farthest >= -self._ahead)
        return Sight(some, (farthest < self.size) & (nearest >= -self._ahead))

    @property
    def _ahead(self) -> int:
        return self.size - 1 if self.ahead is None else self.ahead
