"""bias(i, j) = (uᵀk_j + (q_i + v)ᵀ W r(i - j)) / √d, with r the sinusoidal vector of a distance

Together with the scaled dot product qᵀk/√d these are the four terms of Dai et al., Transformer-XL, 2019,
https://arxiv.org/abs/1901.02860
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes
from regard.attention.position import Bias, distances, sinusoid
from regard.base.errors import ConfigError


@dataclass(frozen=True)
class TransformerXL(Bias):
    """Transformer-XL's relative positions: a learned score between the query and the distance."""

    scale: float | None = None
    """the scale of the score; by default 1/√width"""
    relative = True

    def build(self, sizes: Sizes) -> "DistanceWeights":
        if sizes.query_width != sizes.key_width:
            raise ConfigError(
                "transformer_xl: queries and keys must have one width, "
                f"but have {sizes.query_width} and {sizes.key_width}"
            )
        return DistanceWeights(sizes.heads, sizes.query_width, sizes.width, self.scale)


class DistanceWeights(PerHead, Bias):
    """u and v, [heads, width of a head], and W, [heads, width, width of a head]."""

    relative = True

    def __init__(self, heads: int, head_width: int, width: int, scale: float | None = None) -> None:
        super().__init__()
        self.scale = head_width**-0.5 if scale is None else scale
        self.content = nn.Parameter(torch.empty(heads, head_width).normal_(std=0.02))
        self.position = nn.Parameter(torch.empty(heads, head_width).normal_(std=0.02))
        self.weight = nn.Parameter(torch.empty(heads, width, head_width).normal_(std=width**-0.5))

    def forward(self, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        apart = distances(query_at, key_at)
        if apart.numel() == 0:
            return query.new_zeros(())
        nearest, farthest = int(apart.min()), int(apart.max())
        span = torch.arange(nearest, farthest + 1, device=query.device)
        known = sinusoid(span, self.weight.shape[1]).to(query) @ self.weight
        wanted = (query + self.position[:, None]) @ known.mT
        by_distance = wanted.gather(-1, (apart - nearest).expand(*wanted.shape[:3], key.shape[2]))
        return (by_distance + (key @ self.content.unsqueeze(-1)).mT) * self.scale
