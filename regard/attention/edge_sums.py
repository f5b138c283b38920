"""Sums along the edges of a graph, or along any list of pairs (query, key): time and memory grow with the pairs.

    edge_softmax:   w_e = exp(l_e) / Σ exp(l_e') over the pairs e' with the same query
    weighted_sum:   y_i = Σ w_e x_j over the pairs e = (i, j)

Pairs are handled in blocks, so that what is gathered stays in the processor's cache and is never stored as a whole;
the backward pass gathers it again.
"""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

_BLOCK_FLOATS = 1 << 18
"""how many numbers are gathered at a time"""


def edge_softmax(
    logits: Float[Tensor, "pairs heads"], rows: Int[Tensor, "pairs"], queries: int
) -> Float[Tensor, "pairs heads"]:
    """Softmax over the pairs of each query; a logit of -inf gets weight 0, also where a query has no other."""
    weights: Tensor = _EdgeSoftmax.apply(logits, rows, queries)
    return weights


def weighted_sum(
    weights: Float[Tensor, "pairs heads"],
    values: Float[Tensor, "keys heads width"],
    rows: Int[Tensor, "pairs"],
    columns: Int[Tensor, "pairs"],
    queries: int,
) -> Float[Tensor, "queries heads width"]:
    """For each query, the weighted sum of the values of its keys."""
    output: Tensor = _WeightedSum.apply(weights, values, rows, columns, queries)
    return output


def dot_products(
    left: Float[Tensor, "queries heads width"],
    right: Float[Tensor, "keys heads width"],
    rows: Int[Tensor, "pairs"],
    columns: Int[Tensor, "pairs"],
) -> Float[Tensor, "pairs heads"]:
    """The dot product of each pair, head by head."""
    products: Tensor = _DotProducts.apply(left, right, rows, columns)
    return products


def at_rows(values: Float[Tensor, "all heads"], rows: Int[Tensor, "pairs"]) -> Float[Tensor, "pairs heads"]:
    """values[rows]; backward, each row's gradients are added in one pass."""
    picked: Tensor = _AtRows.apply(values, rows)
    return picked


class _AtRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.count = len(values)
        return values.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return _added(gradient, rows, ctx.count), None


class _EdgeSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, rows: Tensor, queries: int) -> Tensor:
        places = rows[:, None].expand_as(logits)
        highest = logits.new_full((queries, logits.shape[1]), float("-inf")).scatter_reduce_(0, places, logits, "amax")
        highest.masked_fill_(highest == float("-inf"), 0.0)
        weights = (logits - highest.index_select(0, rows)).exp_()
        sums = _added(weights, rows, queries)
        weights.div_(sums.masked_fill_(sums == 0, 1.0).index_select(0, rows))
        ctx.save_for_backward(weights, rows)
        ctx.queries = queries
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        weights, rows = ctx.saved_tensors
        part = weights * gradient
        return part - weights * _added(part, rows, ctx.queries).index_select(0, rows), None, None


class _WeightedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor, rows: Tensor, columns: Tensor, queries: int) -> Tensor:
        ctx.save_for_backward(weights, values, rows, columns)
        return _gathered(weights, values, rows, columns, queries)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weights, values, rows, columns = ctx.saved_tensors
        of_weights = _products(gradient, values, rows, columns) if ctx.needs_input_grad[0] else None
        of_values = _gathered(weights, gradient, columns, rows, len(values)) if ctx.needs_input_grad[1] else None
        return of_weights, of_values, None, None, None


class _DotProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        ctx.save_for_backward(left, right, rows, columns)
        return _products(left, right, rows, columns)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        left, right, rows, columns = ctx.saved_tensors
        of_left = _gathered(gradient, right, rows, columns, len(left)) if ctx.needs_input_grad[0] else None
        of_right = _gathered(gradient, left, columns, rows, len(right)) if ctx.needs_input_grad[1] else None
        return of_left, of_right, None, None


def _added(values: Tensor, rows: Tensor, count: int) -> Tensor:
    return values.new_zeros(count, *values.shape[1:]).index_add_(0, rows, values)


def _gathered(weights: Tensor, values: Tensor, rows: Tensor, columns: Tensor, count: int) -> Tensor:
    """Each row's sum of weights · values[columns]."""
    output = values.new_zeros(count, *values.shape[1:])
    for block in _blocks(len(rows), values[0].numel() if len(values) else 1):
        output.index_add_(0, rows[block], values.index_select(0, columns[block]).mul_(weights[block, :, None]))
    return output


def _products(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """left[rows] · right[columns], pair by pair and head by head."""
    found = left.new_empty(len(rows), left.shape[1])
    for block in _blocks(len(rows), left[0].numel() if len(left) else 1):
        product = left.index_select(0, rows[block]).mul_(right.index_select(0, columns[block]))
        torch.sum(product, -1, out=found[block])
    return found


def _blocks(pairs: int, floats: int) -> Iterator[slice]:
    size = max(1, _BLOCK_FLOATS // max(1, floats))
    return (slice(first, first + size) for first in range(0, pairs, size))
