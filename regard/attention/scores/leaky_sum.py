"""score(q, k) = leaky_relu(aᵀ q + bᵀ k)

The score of graph attention (GAT): Veličković et al., 2018, https://arxiv.org/abs/1710.10903. Every query ranks the
keys in the same order, that of bᵀ k ("static" attention: Brody et al., 2022, https://arxiv.org/abs/2105.14491).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.attention.edge_sums import at_rows
from regard.attention.part import PerHead, Sizes
from regard.attention.score import Score


@dataclass(frozen=True)
class LeakySum(Score):
    """A number of the query plus a number of the key."""

    slope: float = 0.2
    """the slope of the rectifier below zero"""

    def build(self, sizes: Sizes) -> "LeakySumWeights":
        return LeakySumWeights(sizes.heads, sizes.query_width, sizes.key_width, self.slope)


class LeakySumWeights(PerHead, Score):
    """The vectors a and b, [heads, width]."""

    equal_widths = False

    def __init__(self, heads: int, query_width: int, key_width: int, slope: float = 0.2) -> None:
        super().__init__()
        self.slope = slope
        for name, width in (("query_weight", query_width), ("key_weight", key_width)):
            bound = (6 / (heads + width)) ** 0.5  # Glorot
            self.register_parameter(name, nn.Parameter(torch.empty(heads, width).uniform_(-bound, bound)))

    query_weight: Tensor
    key_weight: Tensor

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        of_query, of_key = self._numbers(query, key)
        return F.leaky_relu(of_query[..., None] + of_key[..., None, :], self.slope)

    def along(self, query: Tensor, key: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        sides = zip(*(side.transpose(1, 2) for side in self._numbers(query, key)), strict=True)
        sums = [at_rows(of_query, rows) + at_rows(of_key, columns) for of_query, of_key in sides]
        return F.leaky_relu(torch.stack(sums), self.slope).transpose(1, 2)

    def _numbers(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """The number of each query and of each key."""
        of_query = torch.einsum("bhnd,hd->bhn", query, self.query_weight)
        return of_query, torch.einsum("bhnd,hd->bhn", key, self.key_weight)
