"""Attention of short sequences in compiled kernels, for training on a CPU: a head of a sentence stays in the cache.

    S = c Q Kᵀ + B,  A = softmax(S),  O = A V
    dV = Aᵀ dO;  dS = A ∘ (dA - (A ∘ dA) 1),  dA = dO Vᵀ;  dQ = c dS K,  dK = c dSᵀ Q

The weights A are computed again on the way back, from log Σ exp of the logits, as in FlashAttention: Dao et al., 2022,
https://arxiv.org/abs/2205.14135, appendix B.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call, spread
from regard.base.errors import CombinationError
from regard.native.training import Sides, TrainingKernels, are_plain, in_rows, takes, training_kernels


@dataclass(frozen=True)
class Native(Backend):
    """For dot products (after some change of queries and keys) under a softmax, in float32 or bfloat16, one thread."""

    rank: ClassVar[int] = 5
    longest: int = 128
    """with more queries or keys than this, torch's kernel is as fast"""

    def refusal(self, call: Call) -> str | None:
        if not call.score.factored:
            return f"{type(call.score).__name__} is not a dot product of a function of each side"
        if not call.normalizer.exponential:
            return f"{type(call.normalizer).__name__} is not the softmax that the kernel computes"
        if call.dropout:
            return "it has no dropout of attention weights"
        bias = call.bias
        if bias is not None and (not isinstance(bias, Tensor) or bias.requires_grad):
            return "it has no gradient for a bias, which may learn"
        if not are_plain(call.query, call.key, call.value, bias):
            return "it computes with plain tensors of float32 or bfloat16 on a CPU"
        return None if training_kernels() else "its kernels are not compiled here"

    def hesitation(self, call: Call) -> str | None:
        sides = call.query, call.key, call.value
        if not (torch.is_grad_enabled() and any(side.requires_grad for side in sides)):
            return "no gradient is asked for"
        if not takes(*sides):
            return "it computes in one thread, and torch has several"
        longest = max(call.query.shape[2], call.key.shape[2])
        return f"there are more than {self.longest} positions" if longest > self.longest else None

    def __call__(self, call: Call) -> Attended:
        kernels, mixed = training_kernels(), torch.is_autocast_enabled("cpu")
        if kernels is None:
            raise CombinationError(f"attention: {self.refusal(call)}")
        with torch.autocast("cpu", enabled=False):
            query, key, scale = _factors(call, mixed)
            read: Tensor = _Read.apply(query, key, call.value.to(query.dtype), _bias(call), scale, kernels)
        return Attended(read if mixed else read.to(call.query.dtype))


def _factors(call: Call, mixed: bool) -> tuple[Tensor, Tensor, float]:
    """What is multiplied; in mixed precision, what a score does before the product is computed in float32."""
    if mixed and not isinstance(call.score, nn.Module):
        query, key, scale = call.score.factors(call.query, call.key)
        if query is call.query and key is call.key:
            return query, key, scale
    given = call.in_float32() if mixed else call
    query, key, scale = given.score.factors(given.query, given.key)
    return query, key.to(query.dtype), scale


def _bias(call: Call) -> Float[Tensor, "batch heads query key"] | None:
    """What is added to the logits: -∞ where a query may not attend."""
    keep = call.keep_tensor
    made = call.bias.detach().float() if isinstance(call.bias, Tensor) else None
    if keep is not None:
        made = keep.new_zeros(keep.shape, dtype=torch.float32) if made is None else made
        made = made.masked_fill(~keep, -torch.inf)
    return None if made is None else made.expand(*call.query.shape[:3], call.key.shape[2])


class _Read(torch.autograd.Function):
    """The kernels. The formulas compute the gradient that is to be differentiated again, as by MAML."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        scale: float,
        kernels: TrainingKernels,
    ) -> Tensor:
        read, log_sum = kernels.read(Sides(in_rows(query), in_rows(key), in_rows(value), bias, scale))
        ctx.save_for_backward(query, key, value, bias, log_sum)
        ctx.scale, ctx.kernels = scale, kernels
        return read

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, bias, log_sum = ctx.saved_tensors
        if torch.is_grad_enabled() or not are_plain(gradient):
            return (*_read_back(Sides(query, key, value, bias, ctx.scale), gradient), None, None, None)
        sides = Sides(in_rows(query), in_rows(key), in_rows(value), bias, ctx.scale)
        return (*ctx.kernels.read_back(sides, log_sum, gradient), None, None, None)


def _read_back(sides: Sides, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The formulas, in torch's functions; heads that share keys add up their gradients."""
    groups, kind = sides.query.shape[1] // sides.key.shape[1], sides.query.dtype
    query, gradient = sides.query.float(), gradient.float()
    key, value = (spread(side.float(), groups) for side in (sides.key, sides.value))
    logits = sides.scale * query @ key.mT
    if sides.bias is None:
        weights = logits.softmax(-1)
    else:
        hidden, logits = sides.bias == -torch.inf, logits + sides.bias.clamp(min=torch.finfo(torch.float32).min)
        weights = logits.softmax(-1).masked_fill(hidden, 0.0)
    by_weights = gradient @ value.mT
    by_logits = sides.scale * weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    by_key, by_value = by_logits.mT @ query, weights.mT @ gradient
    if groups > 1:
        by_key, by_value = (made.reshape(len(made), -1, groups, *made.shape[2:]).sum(2) for made in (by_key, by_value))
    return (by_logits @ key).to(kind), by_key.to(kind), by_value.to(kind)
