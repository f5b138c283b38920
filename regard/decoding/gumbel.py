"""Gumbel noise from a counter-based generator: each number depends on its key and its token alone.

Sampling is a race: argmax of log p + noise is distributed as p, where the noise is -log(-log u) for uniform u (Gumbel
1954; Maddison et al. 2014, arXiv:1411.0030). A few tokens get the same noise as they have among all.
"""

import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor

_AT_ONCE = 1 << 16
"""numbers that stay in the processor's cache while they are mixed"""
_LATEST = 30.0
"""of an exponential time that rounding makes infinite"""
_GOLDEN, _FIRST, _SECOND = 0x9E3779B9, 0x7FEB352D, 0x846CA68B


def gumbel_noise(keys: Int32[Tensor, "rows 2"], tokens: Int[Tensor, "#rows tokens"]) -> Float[Tensor, "rows tokens"]:
    """The noise of these tokens, in which every key gives a row of its own."""
    count = tokens.shape[1]
    counters = tokens.int() * _signed(_GOLDEN)
    made = torch.empty(len(keys), count, device=keys.device)
    rows = max(1, _AT_ONCE // count)
    for start in range(0, len(keys), rows):
        some = slice(start, start + rows)
        first, second = keys[some].split(1, 1)
        bits = _mixed(_mixed(counters[some if len(tokens) > 1 else slice(None)] + first).add_(second))
        uniform = bits.bitwise_and_((1 << 31) - 1).float().add_(0.5).mul_(2.0**-31)  # exact where it is small
        made[some] = uniform.neg_().log1p_().neg_().clamp_(max=_LATEST).log_().neg_()
    return made


def _mixed(bits: Int32[Tensor, "rows tokens"]) -> Int32[Tensor, "rows tokens"]:
    """Bits of which each depends on all of the given ones (a hash of Wellons, 2018, `lowbias32`); in place."""
    for shift, factor in ((16, _FIRST), (15, _SECOND)):
        bits.bitwise_xor_((bits >> shift).bitwise_and_((1 << 32 - shift) - 1)).mul_(_signed(factor))
    return bits.bitwise_xor_((bits >> 16).bitwise_and_(0xFFFF))


def _signed(number: int) -> int:
    """A number of 32 bits as torch holds it, whose products are taken modulo 2^32."""
    return number - (1 << 32) if number >= 1 << 31 else number
