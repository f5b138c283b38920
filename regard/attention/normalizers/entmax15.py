"""weights = max(logits / 2 - τ, 0)², with τ such that they sum to one: α-entmax at α = 1.5

Peters, Niculae & Martins, 2019, https://arxiv.org/abs/1905.05702
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class Entmax15(Normalizer):
    """Halfway between softmax and sparsemax: smooth, and exactly zero for low logits."""

    def forward(self, logits: Tensor) -> Tensor:
        return _Entmax15.apply(logits)


class _Entmax15(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        # Half a logit more than 1 below the highest gets no weight, so clamping it changes nothing.
        halves = ((logits - logits.amax(-1, keepdim=True)) / 2).clamp(min=-2.0)
        falling = halves.sort(-1, descending=True).values
        counts = torch.arange(1, halves.shape[-1] + 1, device=halves.device, dtype=halves.dtype)
        mean = falling.cumsum(-1) / counts
        spread = falling.square().cumsum(-1) - counts * mean.square()
        thresholds = mean - ((1 - spread) / counts).clamp(min=0).sqrt()
        support = (thresholds <= falling).sum(-1, keepdim=True)
        weights = (halves - thresholds.gather(-1, support - 1)).clamp(min=0).square()
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (weights,) = ctx.saved_tensors
        roots = weights.sqrt()
        mean = (gradient * roots).sum(-1, keepdim=True) / roots.sum(-1, keepdim=True)
        return roots * (gradient - mean)
