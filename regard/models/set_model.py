"""What models of sets share: features of each element, a pooling that knows no order, and an output.

    F(P X) = P F(X) for the features of the elements (equivariance), and pooled(P X) = pooled(X) (invariance)

The pooled features of an empty set are zeros (for attention: what the seeds are without reading), so its output is a
constant that is learned if the training data hold empty sets.
"""

from abc import abstractmethod

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.models.model import Encoder


class SetModel(Encoder):
    """A model that reads a set of vectors and gives a vector."""

    output: torch.nn.Module
    """from pooled features to the output"""

    @abstractmethod
    def encode(
        self, elements: Float[Tensor, "batch size element"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch size width"], Bool[Tensor, "batch size"]]:
        """The features of each element, and which of them are no padding."""

    @abstractmethod
    def pooled(
        self, features: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"]
    ) -> Float[Tensor, "batch pooled"]:
        """One vector for each set."""

    def forward(
        self, elements: Float[Tensor, "batch size element"], lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch outputs"]:
        """The output for each set."""
        made: Tensor = self.output(self.pooled(*self.encode(elements, lengths)))
        return made
