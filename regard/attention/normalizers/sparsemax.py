"""weights = argmin_p ‖p - logits‖² over the simplex = max(logits - τ, 0)

Martins & Astudillo, 2016, https://arxiv.org/abs/1602.02068
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Sparsemax(Normalizer):
    """The nearest distribution to the logits: low logits get exactly zero."""

    def forward(self, logits: Tensor) -> Tensor:
        return _Sparsemax.apply(logits)


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        # A logit more than 1 below the highest gets no weight, so clamping it changes nothing.
        below = (logits - logits.amax(-1, keepdim=True)).clamp(min=-2.0)
        falling = below.sort(-1, descending=True).values
        counts = torch.arange(1, below.shape[-1] + 1, device=below.device, dtype=below.dtype)
        excess = falling.cumsum(-1) - 1
        support = (falling * counts > excess).sum(-1, keepdim=True)
        threshold = excess.gather(-1, support - 1) / support
        weights = (below - threshold).clamp(min=0)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        support = (weights > 0).to(gradient)
        mean = (gradient * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return support * (gradient - mean)
