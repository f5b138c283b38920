"""score(q, k) = qᵀ W k

Luong et al., 2015 ("general"), https://arxiv.org/abs/1508.04025
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.attention.part import PerHead, Sizes, by_head
from regard.attention.score import Score


@dataclass(frozen=True)
class Bilinear(Score):
    """A learned matrix between query and key, one for each attention head."""

    def build(self, sizes: Sizes) -> "BilinearWeights":
        return BilinearWeights(sizes.heads, sizes.query_width, sizes.key_width)


class BilinearWeights(PerHead, Score):
    """W, [heads, query width, key width]."""

    factored = True
    equal_widths = False

    def __init__(self, heads: int, query_width: int, key_width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(heads, query_width, key_width))
        nn.init.normal_(self.weight, std=(query_width * key_width) ** -0.5)

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return by_head(query, self.weight) @ key.mT

    def factors(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, float]:
        return by_head(query, self.weight), key, 1.0
