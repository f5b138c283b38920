"""One call of attention: the tensors, the parts, and where everything stands, checked once for all backends."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.part import positions_of
from regard.attention.position import Bias, Position
from regard.attention.score import Score
from regard.base.errors import CombinationError, ShapeError


@dataclass(frozen=True, kw_only=True)
class Call:
    """What `attend` was asked. Tensors are [batch, heads, length, width]; keys and values may have fewer heads."""

    query: Tensor
    key: Tensor
    value: Tensor
    score: Score
    normalizer: Normalizer
    keep: Tensor | Mask | None = None
    bias: Tensor | Bias | None = None
    query_at: Tensor
    key_at: Tensor
    in_order: bool = False
    """query_at and key_at are both 0, 1, 2, …"""
    dropout: float = 0.0

    @property
    def pairs(self) -> int:
        """How many (query, key) pairs there are over all heads and the batch."""
        batch, heads, queries, _ = self.query.shape
        return batch * heads * queries * self.key.shape[2]

    @property
    def groups(self) -> int:
        """How many query heads share a key head."""
        return self.query.shape[1] // self.key.shape[1]

    @cached_property
    def keep_tensor(self) -> Tensor | None:
        """The mask, spelled out for every pair."""
        if not isinstance(self.keep, Mask):
            return self.keep
        keep = self.keep(self.query_at, self.key_at)
        check_broadcast("keep", keep, self.query, self.key)
        return keep

    def bias_tensor(self) -> Tensor | None:
        """The bias, spelled out for every pair."""
        if isinstance(self.bias, Bias):
            key = spread(self.key, self.groups)
            return self.bias(self.query, key, self.query_at, self.key_at)
        return self.bias

    def rows(self, chosen: Tensor | slice) -> "Call":
        """The same call for some of the queries alone."""
        return replace(
            self,
            query=self.query[:, :, chosen],
            query_at=self.query_at[..., chosen],
            keep=_cut(self.keep, -2, chosen),
            bias=_cut(self.bias, -2, chosen),
            in_order=False,
        )

    def columns(self, chosen: Tensor) -> "Call":
        """The same call for some of the keys alone."""
        return replace(
            self,
            key=self.key[:, :, chosen],
            value=self.value[:, :, chosen],
            key_at=self.key_at[..., chosen],
            keep=_cut(self.keep, -1, chosen),
            bias=_cut(self.bias, -1, chosen),
            in_order=False,
        )

    def heads(self, chosen: Tensor) -> "Call":
        """The same call in some of the heads alone."""
        shared = chosen // self.groups
        bias = self.bias.select(chosen) if isinstance(self.bias, Bias) else _cut(self.bias, -3, chosen)
        return replace(
            self,
            query=self.query[:, chosen],
            key=self.key[:, shared],
            value=self.value[:, shared],
            score=self.score.select(chosen),
            keep=self.keep.select(chosen) if isinstance(self.keep, Mask) else _cut(self.keep, -3, chosen),
            bias=bias,
        )


def spread(tensor: Tensor, groups: int) -> Tensor:
    """Key or value heads repeated so that each query head has one of its own."""
    return tensor if groups == 1 else tensor.repeat_interleave(groups, dim=1)


def _cut(part: Any, axis: int, chosen: Tensor | slice) -> Any:
    """The chosen entries of a tensor's axis, unless it is a part, or broadcasts along that axis."""
    if not isinstance(part, Tensor) or part.dim() < -axis or part.shape[axis] == 1:
        return part
    where = (slice(None),) * (part.dim() + axis)
    return part[(*where, chosen)]


def make_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Score,
    normalizer: Normalizer,
    keep: Tensor | Mask | None = None,
    bias: Tensor | Bias | None = None,
    query_at: Tensor | None = None,
    key_at: Tensor | None = None,
    dropout: float = 0.0,
) -> Call:
    """The call, or an error that says what does not fit."""
    _check_shapes(query, key, value, score)
    _check_parts(query, key, score, normalizer, keep, bias)
    in_order = query_at is None and key_at is None
    query_at = positions_of(query.shape[2], query) if query_at is None else query_at
    key_at = positions_of(key.shape[2], key) if key_at is None else key_at
    for name, at, length in (("query_at", query_at, query.shape[2]), ("key_at", key_at, key.shape[2])):
        if tuple(at.shape) not in ((length,), (1, length), (query.shape[0], length)):
            shapes = f"[{length}] or [{query.shape[0]}, {length}]"
            raise ShapeError(
                f"attend: {name} must be a position for each, {shapes}, but has the shape {list(at.shape)}"
            )
    return Call(
        query=query,
        key=key,
        value=value,
        score=score,
        normalizer=normalizer,
        keep=keep,
        bias=bias,
        query_at=query_at,
        key_at=key_at,
        in_order=in_order,
        dropout=dropout,
    )


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, score: Score) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            shape = list(tensor.shape)
            raise ShapeError(f"attend: {name} must be [batch, heads, length, width], but has the shape {shape}")
        if tensor.dtype != query.dtype:
            raise ShapeError(f"attend: {name} is {tensor.dtype}, but query is {query.dtype}; they must be alike")
    if key.shape[:3] != value.shape[:3]:
        ours, theirs = list(key.shape[:3]), list(value.shape[:3])
        raise ShapeError(f"attend: key and value must share [batch, heads, length], but have {ours} and {theirs}")
    if query.shape[0] != key.shape[0]:
        raise ShapeError(f"attend: query has a batch of {query.shape[0]}, but key has one of {key.shape[0]}")
    if key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ShapeError(
            f"attend: the query's heads ({query.shape[1]}) must be a multiple of the key's heads ({key.shape[1]})"
        )
    if score.equal_widths and query.shape[3] != key.shape[3]:
        name = type(score).__name__
        raise ShapeError(
            f"attend: query has width {query.shape[3]} and key has width {key.shape[3]}; {name} needs equal widths"
        )


def _check_parts(
    query: Tensor,
    key: Tensor,
    score: Score,
    normalizer: Normalizer,
    keep: Tensor | Mask | None,
    bias: Tensor | Bias | None,
) -> None:
    if isinstance(keep, Tensor):
        check_keep(keep, query, key)
    if isinstance(bias, Tensor):
        check_broadcast("bias", bias, query, key)
    elif isinstance(bias, Position) and not isinstance(bias, Bias):
        name = type(bias).__name__
        raise CombinationError(
            f"attend: {name} is no bias on the logits: call its place() on queries and keys, "
            f"or use Attention(positions={name}(…))"
        )
    if normalizer.proportional and not score.positive:
        raise CombinationError(
            f"attend: {type(normalizer).__name__} divides by the sum of the logits, so it needs a score that is "
            f"never negative, such as Kernel(); {type(score).__name__} can be negative"
        )
    if normalizer.proportional and bias is not None:
        raise CombinationError(
            f"attend: {type(normalizer).__name__} does not combine with a bias on the logits, "
            "which could make them negative; place the positions on queries and keys instead"
        )


def check_keep(keep: Tensor, query: Tensor, key: Tensor) -> None:
    """A mask that is given as a tensor is bool and fits the pairs."""
    if keep.dtype != torch.bool:
        raise ShapeError(
            f"attend: keep must be bool, True where a query may look, but is {keep.dtype}; "
            "numbers to be added to the logits are passed as bias"
        )
    check_broadcast("keep", keep, query, key)


def check_broadcast(name: str, tensor: Tensor, query: Tensor, key: Tensor) -> None:
    """The tensor has a number for every pair, or for all along an axis."""
    full = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    ends = zip(reversed(tensor.shape), reversed(full), strict=False)
    if tensor.dim() > 4 or any(size not in (1, wanted) for size, wanted in ends):
        raise ShapeError(
            f"attend: {name} has the shape {list(tensor.shape)}, "
            f"which does not broadcast to [batch, heads, query, key] = {list(full)}"
        )
