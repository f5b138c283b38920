"""Waves of a coordinate x: sin and cos of 2ᵏπx for k = 0, 1, …, beside x itself.

The product of two points' waves is that of their distance, cos a cos b + sin a sin b = cos(a - b), so that attention by
dot products can look for what is near. Tancik et al., 2020, https://arxiv.org/abs/2006.10739
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def waves(x: Float[Tensor, "*batch coordinates"], octaves: int) -> Float[Tensor, "*batch wider"]:
    """Each coordinate x, and sin and cos of 2ᵏπx for k = 0, 1, … below `octaves`."""
    phases = (x[..., None] * (math.pi * 2.0 ** torch.arange(octaves, device=x.device, dtype=x.dtype))).flatten(-2)
    return torch.cat((x, phases.sin(), phases.cos()), -1)
