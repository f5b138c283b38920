"""weights = 1 / (1 + exp(-(logits + shift)))

Each key is judged by itself. Ramapuram et al., 2024, https://arxiv.org/abs/2409.04431 (with shift = -log n)
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Sigmoid(Normalizer):
    """Each key gets its own weight between 0 and 1; keys do not compete."""

    shift: float = 0.0
    """is added to the logits: negative values make weights small to begin with"""
    sums_to_one = False

    def forward(self, logits: Tensor) -> Tensor:
        return (logits + self.shift).sigmoid()
