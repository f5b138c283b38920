"""keep(i, j) = i < count, or j < count

Zaheer et al., Big Bird, 2020, https://arxiv.org/abs/2007.14062
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class GlobalTokens(Mask):
    """The first `count` positions attend to all and are seen by all; the others see only these."""

    count: int = 1
    """how many positions at the start are global"""

    def __post_init__(self) -> None:
        check_at_least("global_tokens", 0, count=self.count)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return (rows < self.count) | (columns < self.count)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        some = (rows.low < self.count) | (columns.low < self.count)
        return Sight(some, (rows.high < self.count) | (columns.high < self.count))
