"""Fast top-k and log-sum-exp over the vocabulary, which every decoding step needs."""

from functools import lru_cache
from math import log

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from regard.layers.inference.filled import CHUNK, missing
from regard.native.kernels import is_plain_float, kernels

_LOG2_E = 1 / log(2)


def top(
    logits: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The `count` largest of each row and their indices, the largest first; same as `torch.topk`."""
    values, _, _, places = top_of_all(logits, logits.new_zeros(len(logits), 1), count)
    return values, places


def top_of_all(
    logits: Float[Tensor, "rows vocabulary"], shift: Float[Tensor, "groups beams"], count: int
) -> tuple[
    Float[Tensor, "groups count"],
    Float[Tensor, "groups count"],
    Int[Tensor, "groups count"],
    Int[Tensor, "groups count"],
]:
    """The `count` largest of logits + shift over all rows of a group (`beams` neighboring rows), the largest first.

    Returns for each the sum, the logit, its beam and its index in the row. Same as `torch.topk` over each group, but
    faster on a CPU: the maximum of every 64 neighbors is taken first, which vectorizes. The `count` largest can only be
    in the `count` chunks with the largest maxima, and only these are searched. Compiled kernels do both in one pass.
    """
    (groups, beams), vocabulary = shift.shape, logits.shape[1]
    native = kernels()
    if (
        native is not None
        and count <= CHUNK
        and is_plain_float(logits)
        and is_plain_float(shift)
        and logits.is_contiguous()
    ):
        return native.best_of_all(logits, shift.contiguous(), count)
    if beams * vocabulary < 2 * count * CHUNK:
        total, place = (logits.view(groups, beams, -1) + shift[:, :, None]).view(groups, -1).topk(count)
        beam, token = place.div(vocabulary, rounding_mode="floor"), place % vocabulary
        return total, logits.view(groups, -1).gather(1, place), beam, token
    if missing(vocabulary):
        logits = pad(logits, (0, missing(vocabulary)), value=-torch.inf)
    chunks = logits.shape[1] // CHUNK
    highest = logits.view(groups, beams, chunks, CHUNK).amax(-1).add_(shift[:, :, None]).view(groups, -1)
    chunk = highest.topk(count, sorted=False).indices
    near = logits.view(-1, CHUNK)[chunk + starts(groups, beams * chunks, chunk.device)]
    beam = chunk.div(chunks, rounding_mode="floor")
    total, at = (near + shift.gather(1, beam)[:, :, None]).view(groups, -1).topk(count)
    which, inside = at.div(CHUNK, rounding_mode="floor"), at % CHUNK
    token = (chunk.gather(1, which) % chunks).mul_(CHUNK).add_(inside)
    if missing(vocabulary):
        token.clamp_(max=vocabulary - 1)  # padding has -∞, as forbidden tokens do
    return total, near.view(groups, -1).gather(1, at), beam.gather(1, which), token


@lru_cache(maxsize=1024)
def starts(groups: int, size: int, device: torch.device) -> Int[Tensor, "groups 1"]:
    """The index of each group's first row, where every group has `size` rows."""
    with torch.inference_mode(False):
        return torch.arange(0, groups * size, size, device=device)[:, None]


class LogSumExp:
    """log Σ exp of each row, with a buffer that is reused: allocating a large one costs more than the sums.

    exp x is computed as 2^(x log₂e), which on many processors takes half the time.
    """

    def __init__(self) -> None:
        self._space = torch.empty(0)

    def __call__(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows"]:
        native = kernels()
        if native is not None and is_plain_float(logits) and logits.is_contiguous():
            return native.log_sum_exp(logits)
        size = logits.numel()
        if self._space.numel() < size or self._space.device != logits.device or self._space.dtype != logits.dtype:
            self._space = torch.empty(size, device=logits.device, dtype=logits.dtype)
        space = self._space[:size].view(logits.shape)
        highest = logits.amax(-1, keepdim=True)
        torch.add(highest * -_LOG2_E, logits, alpha=_LOG2_E, out=space)
        return space.exp2_().sum(-1).log_().add_(highest[:, 0])
