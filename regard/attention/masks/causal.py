"""The causal mask: keep(i, j) = j ≤ i"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch


@dataclass(frozen=True)
class Causal(Mask):
    """A position may attend to itself and to what came before."""

    causal = True

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return columns <= rows

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        return Sight(columns.low <= rows.high, columns.high <= rows.low)
