"""Attention weights for a page, small: of a long row the largest weights are kept, as bytes."""

import base64

from jaxtyping import Float
from torch import Tensor, uint8

from regard.base.errors import UsageError

_FEW = 64
_KEPT = 12


def kept(keys: int) -> int:
    """How many weights of a row are kept: all of a short text, the 12 largest of one with more than 64 tokens."""
    return keys if keys <= _FEW else _KEPT


def pack_weights(weights: Float[Tensor, "heads query key"]) -> dict[str, str]:
    """The largest weights of each row: their places as 16-bit numbers, and their size as bytes, 255 being one."""
    if weights.shape[-1] > 2**16:
        raise UsageError(f"inspect: {weights.shape[-1]:,} tokens are too many for a page")
    best = weights.topk(kept(weights.shape[-1]), dim=-1)
    sizes = (best.values.clamp(0, 1) * 255).round().to(uint8)
    return {
        "at": base64.b64encode(best.indices.numpy().astype("<u2").tobytes()).decode(),
        "size": base64.b64encode(sizes.numpy().tobytes()).decode(),
    }
