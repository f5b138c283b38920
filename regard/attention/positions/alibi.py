"""bias(i, j) = -slope_h · |i - j|, with slopes 2^(-8/H), 2^(-16/H), … for H heads

Press et al., 2022, https://arxiv.org/abs/2108.12409. Where H is no power of two, the slopes of the next lower
power are filled up with every other slope of the next higher one, as in the authors' code.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.part import PerHead, Sizes
from regard.attention.position import Bias, distances


@dataclass(frozen=True)
class Alibi(Bias):
    """ALiBi: a penalty that grows linearly with the distance, with another slope in each attention head."""

    relative = True

    def build(self, sizes: Sizes) -> "AlibiSlopes":
        return AlibiSlopes(sizes.heads)


class AlibiSlopes(PerHead, Bias):
    """The slope of each attention head; it is not learned."""

    relative = True
    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        lower = 2 ** math.floor(math.log2(heads))
        slopes = [2 ** (-8 * (h + 1) / lower) for h in range(lower)]
        slopes += [2 ** (-4 * (h + 1) / lower) for h in range(0, 2 * (heads - lower), 2)]
        self.register_buffer("slopes", torch.tensor(slopes), persistent=False)

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        far = distances(query_at, key_at).abs().to(query.dtype)
        return -self.slopes.to(query)[:, None, None] * far
