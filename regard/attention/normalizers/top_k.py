"""weights = softmax over the k highest logits, zero elsewhere

Gupta et al., 2021, https://arxiv.org/abs/2106.06899
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.normalizer import Normalizer
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class TopK(Normalizer):
    """A softmax over the `k` highest logits."""

    k: int = 8
    """how many keys get a weight"""

    def __post_init__(self) -> None:
        check_at_least("top_k", 1, k=self.k)

    def forward(self, logits: Tensor) -> Tensor:
        best = logits.topk(min(self.k, logits.shape[-1]), dim=-1)
        return torch.zeros_like(logits).scatter(-1, best.indices, best.values.softmax(-1))
