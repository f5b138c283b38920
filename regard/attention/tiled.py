"""Block-sparse attention over the visible tiles of a call.

For each block of queries, the blocks of keys that it sees are concatenated: a small call, which any backend computes.
Blocks of queries that see equally many blocks of keys make up the batch of one such call.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention.call import Call, check_broadcast
from regard.attention.position import Bias
from regard.attention.tiling import Blocks, Bucket, Tiling

Serve = Callable[[Call], Tensor]
"""a function from a small call to its output, [batch, heads, query, …]"""


def read_tiles(call: Call, plan: Tiling, serve: Serve) -> Float[Tensor, "batch heads query width"]:
    """The attention output, computed by small calls; zeros where a query sees nothing."""
    for mask in call.masks:
        if not mask.fixed:
            query_at, key_at = call.places
            check_broadcast("keep", mask(query_at[..., :1], key_at[..., :1]), call.query, call.key)
    if not plan.sight.some.any():
        return serve(replace(call.columns(slice(0)), mask=None, keep=None, bias=None, backend=None))
    return (_one_block if len(plan.queries.index) == 1 else _all_blocks)(call, plan, serve)


def _one_block(call: Call, plan: Tiling, serve: Serve) -> Tensor:
    """Few queries, as in decoding: one call with the visible keys, without a copy if these are contiguous."""
    seen = plan.sight.some[0].nonzero()[:, 0].tolist()
    if plan.keys.order is None and seen[-1] - seen[0] == len(seen) - 1:
        few = call.columns(slice(seen[0] * plan.keys.size, (seen[-1] + 1) * plan.keys.size))
    else:
        few = call.columns(plan.keys.index[seen][plan.keys.there[seen]])
    return serve(replace(few, mask=None, keep=few.keep_tensor, backend=None))


def _all_blocks(call: Call, plan: Tiling, serve: Serve) -> Tensor:
    queries = _blocks(call.query, plan.queries)
    sides = [_blocks(side, plan.keys) for side in (call.key, call.value)]
    outputs, rows = [], []
    for bucket in plan.buckets:
        few = _bucket(call, plan, bucket, queries, sides)
        outputs.append(serve(few).unflatten(0, (len(call.query), -1)))
        rows.append(bucket.rows)
    blind = (~plan.sight.some.any(1)).nonzero()[:, 0]
    if len(blind):
        batch, _, *rest = outputs[0].shape
        outputs.append(outputs[0].new_zeros(batch, len(blind), *rest))
        rows.append(blind)
    output = outputs[0] if len(outputs) == 1 else torch.cat(outputs, 1).index_select(1, torch.cat(rows).argsort())
    output = output.transpose(1, 2).flatten(2, 3)[:, :, : call.query.shape[2]]
    order = plan.queries.order
    return output if order is None else output.index_select(2, order.argsort())


def _bucket(call: Call, plan: Tiling, bucket: Bucket, queries: Tensor, sides: list[Tensor]) -> Call:
    """The call of some blocks of queries with the keys that they see; each block is an entry of the batch."""
    batch = len(call.query)
    query = queries if len(bucket.rows) == queries.shape[2] else queries.index_select(2, bucket.rows)
    key, value = (_gather(side, bucket.columns) for side in sides)
    rows, columns = plan.queries.index[bucket.rows], plan.keys.index[bucket.columns].flatten(1)
    keep = _all_of(bucket.keep, _pick(call.keep, rows, columns) if isinstance(call.keep, Tensor) else None)
    few = Call(
        _fold(query, batch),
        key,
        value,
        score=call.score,
        normalizer=call.normalizer,
        keep=None if keep is None else _fold(keep, batch),
        bias=_fold(_pick(call.bias, rows, columns), batch) if isinstance(call.bias, Tensor) else call.bias,
        dropout=call.dropout,
    )
    if isinstance(call.bias, Bias):
        query_at, key_at = (
            _fold_places(at[..., index], batch) for at, index in zip(call.places, (rows, columns), strict=True)
        )
        few = replace(few, query_at=query_at, key_at=key_at)
    return few


def _blocks(side: Tensor, blocks: Blocks) -> Tensor:
    """The vectors in blocks, [batch, heads, blocks, size, width]."""
    if blocks.order is not None:
        side = side.index_select(2, blocks.order)
    missing = blocks.index.numel() - side.shape[2]
    return (F.pad(side, (0, 0, 0, missing)) if missing else side).unflatten(2, (-1, blocks.size))


def _gather(side: Tensor, columns: Tensor) -> Tensor:
    """For each block of queries the blocks of keys that it sees, [batch · blocks, heads, keys, width].

    Whole blocks are selected in their final order: one copy forward, and one backward.
    """
    batch, heads, blocks, size, width = side.shape
    first = torch.arange(batch * heads, device=side.device).mul(blocks).view(batch, 1, heads, 1)
    rows = (first + columns[None, :, None]).flatten()
    picked = side.reshape(batch * heads * blocks, size * width).index_select(0, rows)
    return picked.view(batch * len(columns), heads, columns.shape[1] * size, width)


def _pick(tensor: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """The entries of a tensor over pairs that belong to tiles, [batch, heads, blocks, query, key] or broadcasting."""
    full = tensor[(None,) * (4 - tensor.dim())]
    rows = rows[:, :, None] if full.shape[2] > 1 else torch.zeros_like(rows[:, :1, None])
    columns = columns[:, None] if full.shape[3] > 1 else torch.zeros_like(columns[:, None, :1])
    return full[:, :, rows, columns]


def _all_of(keep: Tensor | None, other: Tensor | None) -> Tensor | None:
    if keep is None or other is None:
        return other if keep is None else keep
    return keep & other


def _fold(tensor: Tensor, batch: int) -> Tensor:
    """[batch, heads, blocks, …] or broadcasting as [batch · blocks, heads, …]."""
    tensor = tensor[(None,) * (5 - tensor.dim())]
    return tensor.transpose(1, 2).expand(batch, *(-1,) * 4).flatten(0, 1)


def _fold_places(at: Tensor, batch: int) -> Tensor:
    """[blocks, positions] or [batch, blocks, positions] as [batch · blocks, positions]."""
    return at.expand(batch, *at.shape[-2:]).flatten(0, 1)
