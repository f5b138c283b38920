"""Dropout: set numbers to zero at random in training, so that no unit relies on another.

    y = x · m / (1 - p),  m = 0 with probability p, else 1

Srivastava et al., 2014, https://jmlr.org/papers/v15/srivastava14a.html. All layers use this one module.

On a CPU, drawing one random number per element takes longer than many a matrix product. There one random byte decides
per element, eight of them from one draw of NumPy's SFC64, which torch's generator seeds; p is then rounded to a 256th,
and the division uses the rounded value. `FAST = False` goes back to torch's own dropout.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import UInt8
from torch import Tensor, nn

from regard.base.chance import random_bytes
from regard.base.errors import ConfigError
from regard.native.training import are_plain, training_kernels

FAST = True
_LEVELS = 256


class Dropout(nn.Module):
    """Sets each number to zero with probability `share` in training; the identity otherwise."""

    def __init__(self, share: float = 0.0) -> None:
        super().__init__()
        check_share("dropout", share)
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        """x after dropout, scaled so that its expectation is x."""
        if not self.training or not self.share:
            return x
        if self.by_bytes and x.device.type == "cpu":
            left: Tensor = _DropByBytes.apply(x, round(self.share * _LEVELS))
            return left
        return F.dropout(x, self.share)

    @property
    def by_bytes(self) -> bool:
        """Whether random bytes are used on a CPU, rather than torch's own dropout."""
        return FAST and 0 < round(self.share * _LEVELS) < _LEVELS

    def extra_repr(self) -> str:
        """The settings in the module's repr."""
        return f"share={self.share}"


class _DropByBytes(torch.autograd.Function):
    """y = x · kept · 256 / (256 - dropped), kept where a random byte is at least `dropped`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, dropped: int) -> Tensor:
        random = random_bytes(x.numel()).view(x.shape)
        ctx.save_for_backward(random)
        ctx.dropped = dropped
        return _drop(x, random, dropped)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (random,) = ctx.saved_tensors
        return _drop(gradient, random, ctx.dropped), None


def _drop(x: Tensor, random: UInt8[Tensor, "*shape"], dropped: int) -> Tensor:
    """The formula. A compiled kernel gives the same bits in one pass over memory, but no gradient of its own."""
    scale = _LEVELS / (_LEVELS - dropped)
    if not torch.is_grad_enabled() and are_plain(x) and (found := training_kernels()):
        return found.drop(x, random, dropped, scale)
    return (x * (random >= dropped)).mul_(scale)


def check_share(name: str, share: float) -> None:
    """Raise a ConfigError unless the probability is at least 0 and below 1."""
    if not 0 <= share < 1:
        raise ConfigError(f"{name} must be at least 0 and below 1, but is {share}")
