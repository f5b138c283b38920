"""A union of masks, one after the other: each is sparse in an order of its own, as `window(128) | strided(128)` is.

    output = Σ_p exp(total_p - total) output_p
    total_p = log Σ_{j seen in part p} exp(logit_j),  total = log Σ_p exp(total_p)

A part sees what no part before it sees. Child et al., Sparse Transformers, 2019, https://arxiv.org/abs/1904.10509;
outputs put together by the sums of their weights: Dao et al., FlashAttention, 2022, https://arxiv.org/abs/2205.14135
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import ClassVar

import torch
from torch import Tensor

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call
from regard.attention.core import define, logits_of, read_with
from regard.attention.mask import Mask
from regard.attention.tiled import read_tiles
from regard.attention.tiling import Tiling, tiling
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Union(Backend):
    """For masks joined by `|` that leave most tiles empty, but not the same ones."""

    rank: ClassVar[int] = 4
    block: int = 64
    """queries of a block, and keys of a block"""
    most: float = 0.3
    """a larger share of tiles, over all parts, is faster computed with all others; or one above half of theirs"""
    from_keys: int = 512
    """with fewer keys it is not worth asking the masks"""

    def __post_init__(self) -> None:
        check_at_least("union", 1, block=self.block)

    def refusal(self, call: Call) -> str | None:
        if not (call.normalizer.exponential and call.normalizer.sums_to_one):
            return f"{type(call.normalizer).__name__} is no softmax, so parts of it cannot be put together"
        return None

    def hesitation(self, call: Call) -> str | None:
        if _union(call) is None:
            return "the mask is no union of masks"
        if call.key.shape[2] < self.from_keys:
            return f"there are only {call.key.shape[2]} keys"
        if not call.query.numel():
            return None
        share, together = sum(self._tiling(part).share for part in _parts(call)), self._tiling(call).share
        if share > min(self.most, together / 2):
            return f"{share:.0%} of the tiles would be computed, and {together:.0%} all at once"
        return None

    def __call__(self, call: Call) -> Attended:
        if not (call.query.numel() and call.key.numel()):
            return define(call)._replace(weights=None)
        found = torch.stack([read_tiles(part, self._tiling(part), _with_total) for part in _parts(call)])
        outputs, totals, seeing = found[..., :-2], found[..., -2:-1], found[..., -1:] > 0
        blind = ~seeing.any(0)
        totals = totals.masked_fill(~seeing, -torch.inf).masked_fill(blind, 0.0)
        return Attended((totals.softmax(0).masked_fill(~seeing, 0.0) * outputs).sum(0))

    def _tiling(self, call: Call) -> Tiling:
        return tiling(call, min(self.block, call.query.shape[2]), self.block)


def _union(call: Call) -> Mask | None:
    """The first mask that is one."""
    return next((mask for mask in call.masks if len(mask.disjuncts()) > 1), None)


def _parts(call: Call) -> list[Call]:
    """The call for each of the masks of a union, without what those before it see; itself if there is none."""
    union = _union(call)
    if union is None:
        return [call]
    keep = call.keep if isinstance(call.keep, Tensor) else None
    others = [mask for mask in call.masks if mask is not union]
    parts, before = [], list[Mask]()
    for mask in union.disjuncts():
        parts.append(replace(call, mask=reduce(and_, [*others, mask, *before]), keep=keep))
        before.append(~mask)
    return parts


def _with_total(call: Call) -> Tensor:
    """What is read; the logarithm of the sum of exp(logit) over what is seen; 1, or 0 where nothing is."""
    logits, keep = logits_of(call)
    keep = torch.ones_like(logits, dtype=torch.bool) if keep is None else keep.expand_as(logits)
    seeing = keep.any(-1, keepdim=True)
    logits = logits.masked_fill(~keep, -torch.inf).masked_fill(~seeing, 0.0)
    total = logits.logsumexp(-1, keepdim=True) if logits.shape[-1] else logits.sum(-1, keepdim=True)
    weights = (logits - total).exp().masked_fill(~seeing, 0.0)
    return torch.cat([read_with(weights, call), total.masked_fill(~seeing, 0.0), seeing.to(total)], dim=-1)
