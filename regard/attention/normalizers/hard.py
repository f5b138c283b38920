"""Hard attention: weights = 1 at the highest logit (the first of equals), 0 elsewhere"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Hard(Normalizer):
    """Only the best key is read; gradients flow through its value, not through the choice."""

    picks_one = True

    def forward(self, logits: Tensor) -> Tensor:
        best = logits.argmax(-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, best, 1.0)
