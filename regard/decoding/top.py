"""The two passes over the vocabulary that every step of a search needs, as fast as they can be had."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

_CHUNK = 64


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


class LogSumExp:
    """log Σ exp of each row, with working space that is kept: fresh large buffers cost more than the sums."""

    def __init__(self) -> None:
        self._space = torch.empty(0)

    def __call__(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows"]:
        size = logits.numel()
        if self._space.numel() < size or self._space.device != logits.device:
            self._space = torch.empty(size, device=logits.device)
        space = self._space[:size].view(logits.shape)
        highest = logits.amax(-1, keepdim=True)
        torch.sub(logits, highest, out=space)
        return space.exp_().sum(-1).log_().add_(highest[:, 0])
