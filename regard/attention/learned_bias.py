"""Softmax attention with a bias that learns, on a CPU, where torch's fused kernel has no gradient for the bias.

    A = softmax(c Q Kᵀ + B, keep),  O = A V
    dV = Aᵀ dO;  dS = A ∘ (dA - (A ∘ dA) 1),  dA = dO Vᵀ;  dQ = c dS K,  dK = c dSᵀ Q,  dB = Σ dS over the batch

Torch would fall back to its reference code, which looks for rows without a key in the whole matrix of logits; with the
49 keys of a Swin tile that takes longer than either matrix product.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def read_biased(
    query: Float[Tensor, "batch heads query width"],
    key: Float[Tensor, "batch heads key width"],
    value: Float[Tensor, "batch heads key value_width"],
    bias: Float[Tensor, "..."],
    keep: Bool[Tensor, "..."] | None,
    scale: float,
) -> Float[Tensor, "batch heads query value_width"]:
    """What each query reads; bias and keep broadcast to all pairs. A query that may attend to nothing reads zeros."""
    read: Tensor = _ReadBiased.apply(query, key, value, bias, keep, scale)
    return read


def _read(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, keep: Tensor | None, scale: float) -> Tensor:
    """The definition, of which gradients of any order can be taken."""
    logits = scale * query @ key.mT + bias
    if keep is None:
        return logits.softmax(-1) @ value
    weights = logits.masked_fill(~keep, torch.finfo(logits.dtype).min).softmax(-1)
    return weights.masked_fill(~keep, 0.0) @ value


class _ReadBiased(torch.autograd.Function):
    """The formulas; the batch and the heads are one axis, so that each product is a single batched one.

    Where the gradient is to be differentiated again, as by MAML, it is that of `_read`.
    """

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, keep: Tensor | None, scale: float
    ) -> Tensor:
        ctx.keep, ctx.scale, outer = keep, scale, query.shape[:2]
        given = (query, key, value, bias)
        query, key, value = (side.flatten(0, 1) for side in (query, key, value))
        logits = torch.baddbmm(query.new_empty(()), query, key.mT, beta=0, alpha=scale).unflatten(0, outer)
        logits += bias
        if keep is not None:
            logits.masked_fill_(~keep, -torch.inf)
        weights = logits.softmax(-1)
        if keep is not None and not bool((sees := keep.any(-1, keepdim=True)).all()):
            weights.masked_fill_(~sees, 0.0)
        weights = weights.flatten(0, 1)
        ctx.save_for_backward(*given, weights)
        return torch.bmm(weights, value).unflatten(0, outer)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        *given, weights = ctx.saved_tensors
        if torch.is_grad_enabled():
            sides = [side if side.requires_grad else side.detach().requires_grad_() for side in given]
            query, key, value, bias = sides
            read = _read(query, key, value, bias, ctx.keep, ctx.scale)
            found = torch.autograd.grad(read, sides, gradient, create_graph=True)
            return (*found, None, None)
        outer, bias_shape = given[0].shape[:2], given[3].shape
        query, key, value = (side.flatten(0, 1) for side in given[:3])
        gradient = gradient.flatten(0, 1)
        by_weights = torch.bmm(gradient, value.mT)
        by_logits = torch.ops.aten._softmax_backward_data(by_weights, weights, -1, weights.dtype)
        by_query = torch.bmm(by_logits, key).mul_(ctx.scale).unflatten(0, outer)
        by_key = torch.bmm(by_logits.mT, query).mul_(ctx.scale).unflatten(0, outer)
        by_value = torch.bmm(weights.mT, gradient).unflatten(0, outer)
        by_bias = by_logits.unflatten(0, outer).sum_to_size(bias_shape)
        return by_query, by_key, by_value, by_bias, None, None
