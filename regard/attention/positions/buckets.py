"""bias(i, j) = weight[h, bucket(j - i)]: near distances have buckets of their own, far ones share them

Raffel et al., T5, 2020, https://arxiv.org/abs/1910.10683
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes
from regard.attention.position import Bias, distances, from_table
from regard.base.errors import ConfigError, check_at_least, check_one_of


@dataclass(frozen=True)
class Buckets(Bias):
    """T5's relative position bias: a learned number for each range of distances, with logarithmic ranges."""

    buckets: int = 32
    """the number of ranges of distances"""
    farthest: int = 128
    """from this distance on, all share the last bucket"""
    direction: Literal["both", "back"] = "both"
    """keys on both sides of a query, or only behind it, as in a decoder"""
    relative = True

    def __post_init__(self) -> None:
        check_at_least("buckets", 4, buckets=self.buckets)
        check_one_of("buckets", ("both", "back"), direction=self.direction)
        if self.farthest <= self.buckets // 2:
            raise ConfigError(
                f"buckets: farthest must be above half the buckets ({self.buckets // 2}), but is {self.farthest}"
            )

    def build(self, sizes: Sizes) -> "BucketTable":
        return BucketTable(sizes.heads, self)

    def bucket(self, ahead: Int[Tensor, "*pairs"]) -> Int[Tensor, "*pairs"]:
        """The bucket of a key that stands `ahead` of its query."""
        count = self.buckets
        if self.direction == "both":
            count //= 2
            side = (ahead > 0).long() * count
            far = ahead.abs()
        else:
            side = torch.zeros_like(ahead)
            far = (-ahead).clamp(min=0)
        exact = count // 2
        growth = (far.clamp(min=1).float() / exact).log() / math.log(self.farthest / exact) * (count - exact)
        shared = (exact + growth.long()).clamp(max=count - 1)
        return side + torch.where(far < exact, far, shared)


class BucketTable(PerHead, Bias):
    """The learned numbers, [heads, buckets]."""

    relative = True

    def __init__(self, heads: int, layout: Buckets) -> None:
        super().__init__()
        self.layout = layout
        self.weight = nn.Parameter(torch.empty(heads, layout.buckets).normal_(std=0.02))

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        far = self.layout.farthest  # from there on, all distances share a bucket
        ahead = (-distances(query_at, key_at)).clamp(-far, far) + far
        return from_table(self.weight[:, _buckets_by_distance(self.layout, ahead.device)], ahead)


@lru_cache(maxsize=64)
def _buckets_by_distance(layout: Buckets, device: torch.device) -> Tensor:
    """The bucket of each distance from -farthest to farthest."""
    with torch.inference_mode(False):
        return layout.bucket(torch.arange(-layout.farthest, layout.farthest + 1)).to(device)
