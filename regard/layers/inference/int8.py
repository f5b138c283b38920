"""Int8 quantization: y = x Wᵀ + b with W and x as 8-bit integers, which halves the time of large matrix products.

        W ≈ s_w · W8, one scale per output;  x ≈ s_x · x8, one scale per row;  y ≈ s_x · s_w · (x8 W8ᵀ) + b

A row's scale follows from its own largest number (dynamic quantization), so that y does not depend on the rest of the
batch. Integer products are exact; only W and x are rounded. Jacob et al., 2018, https://arxiv.org/abs/1712.05877
"""

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn

from regard.base import processor
from regard.base.errors import UsageError
from regard.layers.inference.filled import filled, trimmed
from regard.layers.output import WritingOutput

_LARGEST = 127
_LARGEST_WEIGHT = 63
"""7 bits: processors without VNNI add two products in 16 bits, which would overflow with 8 bits"""
_MIDDLE = 128
"""the zero point of the inputs, which the kernel takes as unsigned bytes"""


class Int8Linear(WritingOutput, nn.Linear):
    """A quantized linear layer. It keeps its float weights, since tied layers may share them."""

    def __init__(self, linear: nn.Linear) -> None:
        nn.Module.__init__(self)
        if linear.weight.device.type != "cpu" or not hasattr(torch.ops.onednn, "qlinear_pointwise"):
            raise UsageError("precision: int8 needs a CPU, and a torch with oneDNN; use float32")
        processor.check("int8", "precision")
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        weight, self._bias = filled(linear)
        whole, self._scale = quantized(weight)
        self._packed = torch.ops.onednn.qlinear_prepack(whole, None)
        self._middle = torch.zeros(len(whole), dtype=torch.int64)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  as torch calls it
        """The formula."""
        return trimmed(self.in_chunks(input), self.out_features)

    def in_chunks(self, input: Tensor) -> Tensor:  # noqa: A002
        """The outputs with their padding of -inf."""
        rows = input.reshape(-1, self.in_features).float()
        largest = rows.abs().amax(1, keepdim=True).clamp_(min=1e-12)
        whole = (rows * (_LARGEST / largest)).round_().add_(_MIDDLE).to(torch.uint8)
        made: Tensor = torch.ops.onednn.qlinear_pointwise(
            whole,
            1 / _LARGEST,
            _MIDDLE,
            self._packed,
            self._scale,
            self._middle,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        made = made.mul_(largest)
        made = made if self._bias is None else made.add_(self._bias)
        return made.view(*input.shape[:-1], -1)


def quantized(
    weight: Float[Tensor, "outputs inputs"],
) -> tuple[Int8[Tensor, "outputs inputs"], Float[Tensor, "outputs"]]:
    """W8 and s_w."""
    weight = weight.float()
    scale = weight.abs().amax(1).clamp(min=1e-12) / _LARGEST_WEIGHT
    return (weight / scale[:, None]).round().to(torch.int8), scale
