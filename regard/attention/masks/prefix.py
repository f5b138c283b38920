"""The prefix mask: keep(i, j) = j < size, or j ≤ i

Raffel et al., T5, 2020, section 3.2.1, https://arxiv.org/abs/1910.10683
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Prefix(Mask):
    """All may attend to the first `size` positions; beyond these it is causal."""

    size: int
    """the length of the prefix"""

    def __post_init__(self) -> None:
        check_at_least("prefix", 0, size=self.size)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return (columns < self.size) | (columns <= rows)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        some = (columns.low < self.size) | (columns.low <= rows.high)
        return Sight(some, (columns.high < self.size) | (columns.high <= rows.low))
