"""Outputs filled up to whole chunks, which searches look at together: further places that no search ever chooses."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

CHUNK = 64


def missing(size: int) -> int:
    """How many places a row of this size lacks to be of whole chunks."""
    return -size % CHUNK


def filled(linear: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of the same map with so many more outputs, which are -∞ for any input."""
    weight, more = linear.weight.detach(), missing(linear.out_features)
    bias = None if linear.bias is None else linear.bias.detach()
    if not more:
        return weight, bias
    bias = weight.new_zeros(len(weight)) if bias is None else bias
    return pad(weight, (0, 0, 0, more)), pad(bias, (0, more), value=-torch.inf)


def trimmed(made: Tensor, size: int) -> Tensor:
    """Such outputs without what they were filled up with."""
    return made if made.shape[-1] == size else made[..., :size].contiguous()
