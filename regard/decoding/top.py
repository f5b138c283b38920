"""The two passes over the vocabulary that every step of a search needs, as fast as they can be had."""

from math import log

import torch
from jaxtyping import Float, Int
from torch import Tensor

_CHUNK = 64
_LOG2_E = 1 / log(2)


def top(
    logits: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The `count` largest of each row with their places, the largest first.

    Same as `torch.topk`, which on a CPU takes most of its time to look at what is not among the largest. Here, the
    maximum of every 64 neighbors is taken first, which vectorizes: the `count` largest can only be in the `count`
    chunks with the largest maxima, and the rest of the row is not looked at again.
    """
    rows, vocabulary = logits.shape
    chunks = vocabulary // _CHUNK
    if chunks < 2 * count:
        found = logits.topk(count)
        return found.values, found.indices
    chunked = logits[:, : chunks * _CHUNK].view(rows, chunks, _CHUNK)
    best = chunked.amax(-1).topk(count, sorted=False).indices
    near = chunked[torch.arange(rows, device=logits.device)[:, None], best].view(rows, -1)
    near = torch.cat([near, logits[:, chunks * _CHUNK :]], dim=1)
    values, at = near.topk(count)
    inside = best.gather(1, (at // _CHUNK).clamp(max=count - 1)) * _CHUNK + at % _CHUNK
    beyond = at + (chunks - count) * _CHUNK
    return values, torch.where(at < count * _CHUNK, inside, beyond)


def top_of_all(
    logits: Float[Tensor, "rows vocabulary"], shift: Float[Tensor, "groups beams"], count: int
) -> tuple[Float[Tensor, "groups count"], Int[Tensor, "groups count"]]:
    """The `count` largest of logits + shift over all rows of a group, the largest first, as numbers from a flat view.

    A group is `beams` neighboring rows; place p is column p % vocabulary of its row p // vocabulary. Same as `topk`
    over each group, in the way of `top`: few chunks of a group are looked at, whichever rows they are in.
    """
    (groups, beams), vocabulary = shift.shape, logits.shape[1]
    chunks = vocabulary // _CHUNK
    if beams * chunks < 2 * count:
        found = (logits.view(groups, beams, vocabulary) + shift[:, :, None]).view(groups, -1).topk(count)
        return found.values, found.indices
    chunked = logits[:, : chunks * _CHUNK].unflatten(1, (chunks, _CHUNK))
    highest = chunked.amax(-1).view(groups, beams, chunks) + shift[:, :, None]
    best = highest.view(groups, -1).topk(count, sorted=False).indices
    row = best.div(chunks, rounding_mode="floor")
    chunk = best - row * chunks
    near = chunked[row + torch.arange(0, groups * beams, beams, device=row.device)[:, None], chunk]
    near = (near + shift.gather(1, row)[:, :, None]).view(groups, -1)
    first = (row * vocabulary + chunk * _CHUNK)[:, :, None]
    places = (first + torch.arange(_CHUNK, device=row.device)).view(groups, -1)
    if vocabulary % _CHUNK:
        rest = logits[:, chunks * _CHUNK :].view(groups, beams, -1) + shift[:, :, None]
        columns = torch.arange(chunks * _CHUNK, vocabulary, device=row.device)
        of_rest = columns + torch.arange(beams, device=row.device)[:, None] * vocabulary
        near = torch.cat([near, rest.view(groups, -1)], dim=1)
        places = torch.cat([places, of_rest.view(1, -1).expand(groups, -1)], dim=1)
    values, at = near.topk(count)
    return values, places.gather(1, at)


class LogSumExp:
    """log Σ exp of each row, with working space that is kept: fresh large buffers cost more than the sums.

    exp x is computed as 2^(x log₂e), which on many processors takes half the time.
    """

    def __init__(self) -> None:
        self._space = torch.empty(0)

    def __call__(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows"]:
        size = logits.numel()
        if self._space.numel() < size or self._space.device != logits.device or self._space.dtype != logits.dtype:
            self._space = torch.empty(size, device=logits.device, dtype=logits.dtype)
        space = self._space[:size].view(logits.shape)
        highest = logits.amax(-1, keepdim=True)
        torch.add(highest * -_LOG2_E, logits, alpha=_LOG2_E, out=space)
        return space.exp2_().sum(-1).log_().add_(highest[:, 0])
