"""A convolution over positions with weight normalization: W = g · V / |V|, one norm for each output feature.

    y_t = Σ_i W_i x_{t+i·dilation} + b

The length of a weight vector, g, and its direction, V / |V|, are learned apart. With a kernel of one position it is a
linear layer. Salimans and Kingma, 2016, https://arxiv.org/abs/1602.07868
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class NormedConvolution(nn.Module):
    """V in `direction`, [output width, input width, kernel], g in `length` and b in `bias`.

    V starts normal with variance `gain` / (kernel · input width), and g as |V|, so that W = V at first. A gain of 4
    keeps the variance through a gated linear unit, and 1 through a linear layer: Gehring et al., 2017,
    https://arxiv.org/abs/1705.03122, section 3.5.
    """

    def __init__(self, input_width: int, output_width: int, kernel: int = 1, gain: float = 1.0) -> None:
        super().__init__()
        std = (gain / (kernel * input_width)) ** 0.5
        self.direction = nn.Parameter(torch.empty(output_width, input_width, kernel).normal_(std=std))
        self.length = nn.Parameter(self.direction.detach().flatten(1).norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(output_width))

    @property
    def weight(self) -> Float[Tensor, "output_width input_width kernel"]:
        """W."""
        norm = self.direction.flatten(1).norm(dim=1)
        return self.direction * (self.length / norm)[:, None, None]

    def forward(self, x: Float[Tensor, "batch length input_width"]) -> Float[Tensor, "batch inside output_width"]:
        """The outputs of all positions at which the kernel lies wholly inside."""
        if self.direction.shape[2] == 1:
            return F.linear(x, self.weight[:, :, 0], self.bias)
        return F.conv1d(x.mT, self.weight, self.bias).mT
