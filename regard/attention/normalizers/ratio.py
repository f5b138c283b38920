"""weights = logits / Σ logits, for logits that are never negative"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Ratio(Normalizer):
    """Weights proportional to the logits: what linear attention computes without the pairs."""

    proportional = True
    nothing = 0.0

    def forward(self, logits: Tensor) -> Tensor:
        total = logits.sum(-1, keepdim=True)
        return logits / total.masked_fill(total == 0, 1.0)
