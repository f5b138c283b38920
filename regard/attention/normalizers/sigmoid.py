"""weights = 1 / (1 + exp(-(logits + shift)))

Each key is judged by itself. Ramapuram et al., 2024, https://arxiv.org/abs/2409.04431 (with shift = -log n)
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Sigmoid(Normalizer):
    """Keys do not compete: all of them may be read in full, or none."""

    shift: float = 0.0
    sums_to_one = False

    def forward(self, logits: Tensor) -> Tensor:
        return (logits + self.shift).sigmoid()
