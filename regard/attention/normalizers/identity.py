"""weights = logits: the raw scores, y^a = [y^e] a"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Identity(Normalizer):
    """The raw scores are the weights: they may be negative, and sum to anything."""

    sums_to_one = False
    signed = True
    nothing = 0.0

    def forward(self, logits: Tensor) -> Tensor:
        return logits
