"""Attention, the one idea:

    output = normalizer(score(query, key) + bias, keep) @ value

Everything else in this package is a choice of these parts, or a faster way to the same numbers.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.backend import Attended, Backend, BackendChoice, choose, explain_call
from regard.attention.call import Call, make_call, spread
from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.position import Bias
from regard.attention.score import Score


def attend(
    query: Float[Tensor, "batch heads query width"],
    key: Float[Tensor, "batch key_heads key key_width"],
    value: Float[Tensor, "batch key_heads key value_width"],
    *,
    score: Score,
    normalizer: Normalizer,
    keep: Bool[Tensor, "..."] | Mask | None = None,
    bias: Float[Tensor, "..."] | Bias | None = None,
    query_at: Int[Tensor, "*positions query"] | None = None,
    key_at: Int[Tensor, "*key_positions key"] | None = None,
    dropout: float = 0.0,
    backend: str | Backend | None = None,
    weights: bool = False,
) -> Attended:
    """Read from the values what each query finds by the keys.

    `keep` is True where a query may look: a mask, or a tensor that broadcasts to [batch, heads, query, key].
    A query that may look at nothing reads zeros. `bias` is added to the logits. Positions count from 0 unless
    given. The fastest backend that gives the right numbers is chosen unless one is named; `weights=True` also
    returns the weights, whichever backend made the output.
    """
    call = make_call(
        query,
        key,
        value,
        score=score,
        normalizer=normalizer,
        keep=keep,
        bias=bias,
        query_at=query_at,
        key_at=key_at,
        dropout=dropout,
    )
    attended = choose(call, backend)(call)
    if weights and attended.weights is None:
        return Attended(attended.output, weights_of(call))
    return attended if weights else Attended(attended.output)


def explain(
    query: Tensor, key: Tensor, value: Tensor, *, backend: str | Backend | None = None, **parts: Any
) -> BackendChoice:
    """Which backend `attend` would take for the same arguments, and why."""
    return explain_call(make_call(query, key, value, **parts), backend)


def define(call: Call) -> Attended:
    """The definition, spelled out: every weight of every pair is computed and held."""
    weights = _weights(call)
    dropped = F.dropout(weights, call.dropout) if call.dropout else weights
    output = dropped @ spread(call.value, call.groups)
    if isinstance(call.bias, Bias) and call.bias.reads_values:
        output = output + call.bias.output(dropped, call.query_at, call.key_at)
    return Attended(output, weights)


def weights_of(
    call: Call, heads: Sequence[int] | Tensor | None = None, rows: Sequence[int] | Tensor | slice | None = None
) -> Float[Tensor, "batch some_heads some_queries key"]:
    """The weights of the asked heads and query rows alone, by the definition."""
    if rows is not None:
        call = call.rows(rows if isinstance(rows, slice) else _index(rows, call))
    if heads is not None:
        call = call.heads(_index(heads, call))
    return _weights(call)


def _index(chosen: Sequence[int] | Tensor, call: Call) -> Tensor:
    return torch.as_tensor(chosen, dtype=torch.long, device=call.query.device)


def _weights(call: Call) -> Tensor:
    logits = call.score(call.query, spread(call.key, call.groups))
    bias, keep = call.bias_tensor(), call.keep_tensor
    if bias is None:
        return call.normalizer(logits, keep)
    if isinstance(call.bias, Tensor) and bool((shut := bias == float("-inf")).any()):  # another way to forbid a pair
        keep = ~shut if keep is None else keep & ~shut
    return call.normalizer(logits + bias, keep)
