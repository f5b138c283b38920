"""y = x Wᵀ + b with W packed beforehand into oneDNN's layout, which is faster where few rows meet a large W.

W is packed once, at first use, rather than in every product. The results are those of `nn.Linear` up to rounding.
While gradients are enabled, this is an `nn.Linear`.
"""

from typing import Any

import torch
from torch import Tensor, nn

from regard.layers.inference.filled import filled, trimmed
from regard.layers.output import WritingOutput


class Prepacked(WritingOutput, nn.Linear):
    """A linear layer for inference, with constant weights. It keeps them, since tied layers may share them."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self._layout: Any = None
        self._bias: Tensor | None = None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  as torch calls it
        """The formula."""
        return trimmed(self.in_chunks(input), self.out_features)

    def in_chunks(self, input: Tensor) -> Tensor:  # noqa: A002
        """The outputs, with their padding of -inf where W is packed."""
        if torch.is_grad_enabled() or input.dtype != torch.float32 or not fits(self):
            return super().forward(input)
        if self._layout is None:
            weight, self._bias = filled(self)
            self._layout = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        made: Tensor = torch.ops.mkldnn._linear_pointwise(input, self._layout, self._bias, "none", [], "")
        return made


def fits(linear: nn.Linear) -> bool:
    """Whether torch can pack these weights."""
    weight = linear.weight
    made = hasattr(torch.ops.mkldnn, "_linear_pointwise") and torch.backends.mkldnn.is_available()
    return made and weight.device.type == "cpu" and weight.dtype == torch.float32
