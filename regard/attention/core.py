"""The definition of attention:

    output = normalizer(score(query, key) + bias, keep) @ value

Everything else in this package is a choice of these parts, or a faster way to the same numbers.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from regard.attention.backend import Attended, BackendChoice, backend_choice_of, choose
from regard.attention.call import Call, arguments_of, spread
from regard.attention.position import Bias


@arguments_of(Call)
def attend(call: Call) -> Attended:
    """Attention: each query reads a weighted sum of the values, with weights from comparing it with the keys.

    >>> attended = attend(query, key, value, score=scores.ScaledDot(), normalizer=normalizers.Softmax(), weights=True)
    >>> attended.output, attended.weights

    attend(query, key, value, *, score, normalizer, mask=None, keep=None, bias=None, …): the arguments are those of a
    `Call`, which explains them. The fastest backend that supports the call is chosen unless one is named.
    """
    attended = choose(call)(call)
    if call.weights and attended.weights is None:
        return Attended(attended.output, weights_of(call))
    return attended if call.weights else Attended(attended.output)


@arguments_of(Call)
def backend_choice(call: Call) -> BackendChoice:
    """Which backend `attend` would choose for the same arguments, and why.

    >>> print(backend_choice(query, key, value, score=scores.ScaledDot(), normalizer=normalizers.Softmax()))
    """
    return backend_choice_of(call)


def define(call: Call) -> Attended:
    """The definition, literally: the weights of all pairs are computed and stored."""
    weights = _weights(call)
    return Attended(read_with(weights, call), weights)


def read_with(weights: Float[Tensor, "batch heads query key"], call: Call) -> Tensor:
    """What is read with these weights, some of them dropped."""
    dropped = F.dropout(weights, call.dropout) if call.dropout else weights
    output = dropped @ spread(call.value, call.groups)
    if isinstance(call.bias, Bias) and call.bias.reads_values:
        output = output + call.bias.output(dropped, *call.places)
    return output


def weights_of(
    call: Call, heads: Sequence[int] | Tensor | None = None, rows: Sequence[int] | Tensor | slice | None = None
) -> Float[Tensor, "batch some_heads some_queries key"]:
    """The attention weights of some heads and query rows, by the definition."""
    if rows is not None:
        call = call.rows(rows if isinstance(rows, slice) else _index(rows, call))
    if heads is not None:
        call = call.heads(_index(heads, call))
    return _weights(call)


def _index(chosen: Sequence[int] | Tensor, call: Call) -> Tensor:
    return torch.as_tensor(chosen, dtype=torch.long, device=call.query.device)


def _weights(call: Call) -> Tensor:
    return call.normalizer(*logits_of(call))


def logits_of(call: Call) -> tuple[Tensor, Tensor | None]:
    """The logits of all pairs, and which of the pairs may be seen."""
    logits = call.score(call.query, spread(call.key, call.groups))
    bias, keep = call.bias_tensor(), call.keep_tensor
    if bias is None:
        return logits, keep
    if isinstance(call.bias, Tensor) and bool((shut := bias == float("-inf")).any()):  # another way to forbid a pair
        keep = ~shut if keep is None else keep & ~shut
    return logits + bias, keep
