"""bias(i, j) = q_iᵀ a(j - i) / √d,  output_i += Σ_j weights(i, j) b(j - i), distances cut off at ±reach

Shaw et al., 2018, https://arxiv.org/abs/1803.02155; the vectors are shared by all heads.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention.part import Sizes
from regard.attention.position import Bias, distances
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Shaw(Bias):
    """Each distance up to `reach` has a learned vector beside the key, and one beside the value."""

    reach: int = 16
    """the largest distance with a vector of its own; those farther apart share it"""
    scale: float | None = None
    """the scale of the score; by default 1/√width"""
    relative = True

    def __post_init__(self) -> None:
        check_at_least("shaw", 1, reach=self.reach)

    def build(self, sizes: Sizes) -> "DistanceVectors":
        return DistanceVectors(self.reach, sizes.query_width, sizes.value_width, self.scale)


class DistanceVectors(nn.Module, Bias):
    """a and b, [2 reach + 1, width of a head]."""

    relative = True
    reads_values = True

    def __init__(self, reach: int, query_width: int, value_width: int, scale: float | None = None) -> None:
        super().__init__()
        self.reach = reach
        self.scale = query_width**-0.5 if scale is None else scale
        self.keys = nn.Parameter(torch.empty(2 * reach + 1, query_width).normal_(std=0.02))
        self.values = nn.Parameter(torch.empty(2 * reach + 1, value_width).normal_(std=0.02))

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        wanted = query @ self.keys.mT * self.scale
        index = self._index(query_at, key_at)
        return wanted.gather(-1, index.expand(*wanted.shape[:3], key.shape[2]))

    def output(self, weights: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        index = self._index(query_at, key_at).expand_as(weights)
        by_distance = weights.new_zeros(*weights.shape[:3], 2 * self.reach + 1)
        return by_distance.scatter_add(-1, index, weights) @ self.values

    def _index(self, query_at: Tensor, key_at: Tensor) -> Tensor:
        return (-distances(query_at, key_at)).clamp(-self.reach, self.reach) + self.reach
