"""Pad the output layer to a multiple of 64, which beam search scans in chunks; the extra logits are -inf."""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

CHUNK = 64


def missing(size: int) -> int:
    """The padding that a row of this size needs."""
    return -size % CHUNK


def filled(linear: nn.Linear) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of the padded layer, whose extra outputs are -inf for any input."""
    weight, more = linear.weight.detach(), missing(linear.out_features)
    bias = None if linear.bias is None else linear.bias.detach()
    if not more:
        return weight, bias
    bias = weight.new_zeros(len(weight)) if bias is None else bias
    return pad(weight, (0, 0, 0, more)), pad(bias, (0, more), value=-torch.inf)


def trimmed(made: Tensor, size: int) -> Tensor:
    """Outputs without the padding."""
    return made if made.shape[-1] == size else made[..., :size].contiguous()
