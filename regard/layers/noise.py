"""Random numbers for layers that draw: uniform and normal ones, made of the random bytes that dropout uses too.

So what is drawn depends on the step's seed and, in lanes, on the lane alone (see `chance.drawing`). Outside training
the draws are always the same, so that two validations can be compared.
"""

import math

import torch
from torch import Tensor, nn

from regard.base.chance import drawing, random_bytes

_LEVELS = 2**24
_SEED = 11


def uniform_like(x: Tensor) -> Tensor:
    """Numbers from 0 (excluded) to 1 (excluded), of the shape of x."""
    words = random_bytes(4 * x.numel()).view(torch.int32).bitwise_and(_LEVELS - 1)
    return ((words.to(x.dtype) + 0.5) / _LEVELS).view(x.shape).to(x.device)


def normal_like(x: Tensor) -> Tensor:
    """Numbers from the standard normal distribution, of the shape of x, by the Box–Muller transform."""
    pairs = uniform_like(torch.empty(2, *x.shape, dtype=x.dtype))
    return ((-2 * pairs[0].log()).sqrt() * (2 * math.pi * pairs[1]).cos()).to(x.device)


class Noise(nn.Module):
    """Draws anew in training; outside it, always the same."""

    def normal(self, x: Tensor) -> Tensor:
        """Standard normal numbers of the shape of x."""
        if self.training:
            return normal_like(x)
        with drawing(_SEED):
            return normal_like(x)

    def uniform(self, x: Tensor) -> Tensor:
        """Numbers between 0 and 1 of the shape of x."""
        if self.training:
            return uniform_like(x)
        with drawing(_SEED):
            return uniform_like(x)
