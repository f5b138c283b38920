"""Linear attention: the keys are summed up before any query reads, so that no pairs are computed.

    output[i] = φ(query[i]) · S / φ(query[i]) · z,    S = Σ_j φ(key[j]) value[j]ᵀ,    z = Σ_j φ(key[j])

with the sums over j ≤ i where the mask is causal. Time and memory grow linearly with the length.
Katharopoulos et al., Transformers are RNNs, 2020, https://arxiv.org/abs/2006.16236
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call, spread
from regard.base.errors import check_at_least


@dataclass(frozen=True)
class Linear(Backend):
    """For a factored positive score under a normalizer that divides by the sum."""

    rank: ClassVar[int] = 0
    chunk: int = 128
    """the chunk length of causal sums"""

    def __post_init__(self) -> None:
        check_at_least("linear", 1, chunk=self.chunk)

    def refusal(self, call: Call) -> str | None:
        if not call.normalizer.proportional:
            return f"{type(call.normalizer).__name__} weighs the keys of a query together, so they cannot be summed up"
        if not call.score.factored:
            return f"{type(call.score).__name__} is not a dot product of a function of each side"
        if call.dropout:
            return "there are no weights that dropout could drop"
        if isinstance(call.keep, Tensor) and not _keys_only(call.keep):
            return "the mask is a matrix of pairs"
        others = [mask for mask in call.masks if not (mask.keys_only or mask.causal)]
        if others:
            return f"{type(others[0]).__name__} depends on query and key together"
        if any(mask.causal for mask in call.masks) and not _aligned(call):
            return "a causal mask is summed up only for queries and keys in the same places"
        return None

    def __call__(self, call: Call) -> Attended:
        query, key, scale = call.score.factors(call.query, call.key)
        key, value = spread(key, call.groups), spread(call.value, call.groups)
        key = key if scale == 1 else key * scale
        hidden = _hidden_keys(call)
        if hidden is not None:
            key = key.masked_fill(hidden, 0.0)
        if any(mask.causal for mask in call.masks):
            return Attended(_divide(self._causal(query, key, _with_ones(value))))
        if torch.is_grad_enabled() and not torch.is_autocast_enabled(query.device.type):
            output: Tensor = _Quotient.apply(query, key, value)
            return Attended(output)
        return Attended(_read(query, key, value))

    def _causal(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        batch, heads, _, width = key.shape
        state = value.new_zeros(batch, heads, width, value.shape[-1])
        outputs = []
        chunks = (side.split(self.chunk, dim=2) for side in (query, key, value))
        for queries, keys, values in zip(*chunks, strict=True):
            outputs.append((queries @ keys.mT).tril() @ values + queries @ state)
            state = state + keys.mT @ values
        return torch.cat(outputs, dim=2) if outputs else query @ state


def _with_ones(value: Tensor) -> Tensor:
    """The values with a last column that sums up z."""
    return F.pad(value, (0, 1), value=1.0)


def _divide(read: Tensor) -> Tensor:
    """What is read, divided by the last column, its total weight; zeros where that is zero."""
    return read[..., :-1] * _share(read[..., -1:])


def _share(total: Tensor) -> Tensor:
    nothing = total == 0
    return total.masked_fill(nothing, 1.0).reciprocal().masked_fill(nothing, 0.0)


def _read(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """What is read of all keys."""
    return _divide(query @ (key.mT @ _with_ones(value)))


class _Quotient(torch.autograd.Function):
    """`_read` with the gradient written out.

    With R = query @ S, its last column r, output = R / r and G the gradient of the output, that of R is G / r, and
    -Σ (G / r) output in the last column. Nothing as wide as the features is computed but products. Where the gradient
    is to be differentiated again, as by MAML, it is that of `_read` itself.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        summed = key.mT @ _with_ones(value)
        read = query @ summed
        share = _share(read[..., -1:])
        batch, heads, length, width = read.shape
        output = read.new_empty(batch, length, heads, width - 1).transpose(1, 2)  # so that heads are merged by a view
        torch.mul(read[..., :-1], share, out=output)
        ctx.save_for_backward(query, key, value, summed, share, output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value, summed, share, output = ctx.saved_tensors
        if torch.is_grad_enabled():
            sides = [side if side.requires_grad else side.detach().requires_grad_() for side in (query, key, value)]
            of_query, of_key, of_value = torch.autograd.grad(_read(*sides), sides, gradient, create_graph=True)
            return of_query, of_key, of_value
        given = gradient * share
        of_read = torch.cat([given, -(given * output).sum(-1, keepdim=True)], dim=-1)
        of_summed = query.mT @ of_read
        return of_read @ summed.mT, _with_ones(value) @ of_summed.mT, key @ of_summed[..., :-1]


def _aligned(call: Call) -> bool:
    return call.in_order and call.query.shape[2] == call.key.shape[2]


def _keys_only(keep: Tensor) -> bool:
    """The same keys for every query: the query's axis broadcasts."""
    return keep.dim() < 2 or keep.shape[-2] == 1 or keep.stride(-2) == 0


def _hidden_keys(call: Call) -> Tensor | None:
    """True at keys that no query may see, [batch, heads, key, 1]; None if all may be seen."""
    hidden = None
    if isinstance(call.keep, Tensor):
        hidden = ~call.keep[..., 0, :].unsqueeze(-1) if call.keep.dim() > 1 else ~call.keep.unsqueeze(-1)
    key_at = call.places[1]
    for mask in call.masks:
        if mask.keys_only:
            unseen = ~mask(key_at.new_zeros(1), key_at).mT  # wherever the query stands
            hidden = unseen if hidden is None else hidden | unseen
    return hidden
