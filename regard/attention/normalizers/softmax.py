"""weights = exp(logits) / Σ exp(logits)"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Softmax(Normalizer):
    """Every key gets a positive weight, most of it the keys with the highest logits."""

    exponential = True

    def forward(self, logits: Tensor) -> Tensor:
        return logits.softmax(-1)
