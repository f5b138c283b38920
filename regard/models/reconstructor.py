"""What models share that learn a code of their input by which it can be made again.

They read vectors of numbers, such as the pixels of a picture, and are encoders: their features are the code.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from regard.models.model import Encoder

Likelihood = Literal["bernoulli", "gaussian"]
"""of the input given its code: pixels between 0 and 1 that are on or off, or numbers with a variance"""


class Coder(Encoder):
    """A model that makes a code of a row of numbers."""

    @abstractmethod
    def code(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch code"]:
        """The code of each input, without noise."""

    def encode(
        self, inputs: Float[Tensor, "batch numbers"]
    ) -> tuple[Float[Tensor, "batch 1 code"], Bool[Tensor, "batch 1"]]:
        """The code as the features of one position."""
        made = self.code(inputs)[:, None]
        return made, torch.ones(made.shape[:2], dtype=torch.bool, device=made.device)


class Reconstructor(Coder):
    """A code, and what it is a code of."""

    @abstractmethod
    def decode(self, codes: Float[Tensor, "batch code"]) -> Float[Tensor, "batch numbers"]:
        """The input that each code stands for: its mean."""

    @abstractmethod
    def losses(self, inputs: Float[Tensor, "batch numbers"], progress: float = 1.0) -> Mapping[str, Tensor]:
        """What training makes small, as `loss`, and its parts, each [batch]; `progress` goes from 0 to 1."""

    def draw_codes(self, like: Float[Tensor, "batch code"]) -> Float[Tensor, "batch code"] | None:
        """Codes drawn from the model's prior, of this shape; None if it has none."""
        return None


def bernoulli_loss(
    logits: Float[Tensor, "*more numbers"], inputs: Float[Tensor, "*batch numbers"]
) -> Float[Tensor, "*more"]:
    """-log P(input): -Σ x log p + (1 - x) log (1 - p), in nats."""
    return F.binary_cross_entropy_with_logits(logits, inputs.expand_as(logits), reduction="none").sum(-1)
