"""The definition, a block of queries at a time: exact, with memory that grows linearly with the length.

Whole rows are held, so every normalizer works as it is. Keys that no query of the block may see are dropped before the
logits are computed, so a sparse mask saves time as well as memory. The last block goes first: those of a causal mask
then get smaller, and each finds room where the one before it was, instead of making the heap grow. In training, a
block's weights are recomputed in the backward pass (gradient checkpointing, Chen et al., 2016,
https://arxiv.org/abs/1604.06174).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call
from regard.attention.core import define
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Blockwise(Backend):
    """For any score and normalizer, where holding all pairs at once would take too much memory."""

    rank: ClassVar[int] = 20
    block_bytes: int = 1 << 26
    """the largest size of one block's logits"""
    from_bytes: int = 1 << 28
    """the plain backend computes calls with smaller logits"""

    def __post_init__(self) -> None:
        check_at_least("blockwise", 1, block_bytes=self.block_bytes)

    def hesitation(self, call: Call) -> str | None:
        needed = _bytes_per_row(call) * call.query.shape[2]
        if needed < self.from_bytes:
            return f"its {needed / 2**20:,.1f} MiB of logits can be held at once"
        return None

    def __call__(self, call: Call) -> Attended:
        length = call.query.shape[2]
        size = max(1, self.block_bytes // max(1, _bytes_per_row(call)))
        learning = torch.is_grad_enabled()
        outputs = []
        for start in reversed(range(0, length, size)):
            rows = slice(start, min(start + size, length))
            outputs.append(checkpoint(_block, call, rows, use_reentrant=False) if learning else _block(call, rows))
        if not outputs:
            return define(call)._replace(weights=None)
        return Attended(torch.cat(outputs[::-1], dim=2))


def _block(call: Call, rows: slice) -> Tensor:
    block = call.rows(rows)
    keep = block.keep_tensor
    if keep is not None:
        seen = keep.flatten(0, -2).any(0) if keep.dim() > 1 else keep
        if not seen.all():
            block = block.columns(seen.nonzero().squeeze(-1))
    return define(block).output


def _bytes_per_row(call: Call) -> int:
    """The size of one query's logits, over the batch and all heads."""
    batch, heads, _, width = call.query.shape
    numbers = batch * heads * call.key.shape[2] * call.score.floats_per_pair(width)
    return numbers * call.query.element_size()
