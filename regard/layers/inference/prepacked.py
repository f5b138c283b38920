"""y = x Wᵀ + b with W packed beforehand into oneDNN's layout, which is faster where few rows meet a large W.

W is packed once, at first use, rather than in every product. The results are those of `nn.Linear` up to rounding.
While gradients are enabled, this is an `nn.Linear`, and so it is for many rows, and for one row of a smaller W, which
torch's own product computes faster. A scaled output, y = (s · x) Wᵀ + b, stays one.
"""

from typing import Any

import torch
from torch import Tensor, nn

from regard.layers.inference.filled import filled, trimmed
from regard.layers.output import WritingOutput

_MANY = 256
"""rows from which on torch's own product is no slower"""
_LARGE = 2**21
"""weights from which on a packed product with one row is faster"""


class Prepacked(WritingOutput, nn.Linear):
    """A linear layer for inference, with constant weights. It keeps them, since tied layers may share them."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        self.scale: float = getattr(linear, "scale", 1.0)
        self._layout: Any = None
        self._bias: Tensor | None = None

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  as torch calls it
        """The formula."""
        return trimmed(self.in_chunks(input), self.out_features)

    def in_chunks(self, input: Tensor) -> Tensor:  # noqa: A002
        """The outputs, with their padding of -inf where W is packed."""
        if self.scale != 1:
            input = input * self.scale  # noqa: A001
        if torch.is_grad_enabled() or input.dtype != torch.float32 or not fits(self) or self._better_plain(input):
            return super().forward(input)
        if self._layout is None:
            weight, self._bias = filled(self)
            self._layout = torch.ops.mkldnn._reorder_linear_weight(weight, None)
        made: Tensor = torch.ops.mkldnn._linear_pointwise(input, self._layout, self._bias, "none", [], "")
        return made

    def _better_plain(self, rows: Tensor) -> bool:
        count = rows.numel() // self.in_features
        return count >= _MANY or (count == 1 and self.weight.numel() < _LARGE)


def fits(linear: nn.Linear) -> bool:
    """Whether torch can pack these weights."""
    weight = linear.weight
    made = hasattr(torch.ops.mkldnn, "_linear_pointwise") and torch.backends.mkldnn.is_available()
    return made and weight.device.type == "cpu" and weight.dtype == torch.float32
