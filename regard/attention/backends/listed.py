"""Attention over listed pairs, such as the edges of a graph: time and memory grow with the pairs, not with all of them.

    weights = softmax over the listed keys of a query of score(query, key);  output = Σ weights · value

Veličković et al., Graph Attention Networks, 2018, https://arxiv.org/abs/1710.10903
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.backend import Attended, Backend
from regard.attention.call import Call, spread
from regard.attention.edge_sums import edge_softmax, weighted_sum
from regard.attention.position import Bias


@dataclass(frozen=True)
class Listed(Backend):
    """For masks that list the pairs that may be seen, with softmax and any score."""

    rank: ClassVar[int] = 3
    most: float = 0.1
    """the largest share of listed pairs; above it, dense attention is faster"""

    def refusal(self, call: Call) -> str | None:
        if all(mask.pairs() is None for mask in call.masks):
            return "no mask lists its pairs, as the edges of a graph do"
        if not call.normalizer.exponential:
            return f"it computes softmax alone, not {type(call.normalizer).__name__}"
        if not call.in_order:
            return "queries and keys are not at positions 0, 1, 2, …"
        if isinstance(call.bias, Bias):
            return f"{type(call.bias).__name__} is computed for all pairs"
        return None

    def hesitation(self, call: Call) -> str | None:
        share = _listed(call).shape[1] / max(1, call.query.shape[2] * call.key.shape[2])
        return f"{share:.0%} of all pairs are listed" if share > self.most else None

    def __call__(self, call: Call) -> Attended:
        batch, _, queries, _ = call.query.shape
        keys = call.key.shape[2]
        rows, columns = _visible(call)
        logits = call.score.along(call.query, spread(call.key, call.groups), rows, columns)
        logits = _masked(logits, call, rows, columns)
        firsts = torch.arange(batch, device=rows.device)[:, None]  # the batch as one large graph
        rows, columns = (firsts * queries + rows).flatten(), (firsts * keys + columns).flatten()
        weights = edge_softmax(logits.transpose(1, 2).flatten(0, 1), rows, batch * queries)
        weights = F.dropout(weights, call.dropout) if call.dropout else weights
        values = spread(call.value, call.groups).transpose(1, 2).flatten(0, 1)
        output = weighted_sum(weights, values, rows, columns, batch * queries)
        return Attended(output.unflatten(0, (batch, queries)).transpose(1, 2))


def _listed(call: Call) -> Tensor:
    """The shortest list of pairs among the masks; [2, 0] if none has a list."""
    lists = [pairs for mask in call.masks if (pairs := mask.pairs()) is not None]
    return min(lists, key=lambda pairs: pairs.shape[1], default=torch.empty(2, 0, dtype=torch.long))


def _visible(call: Call) -> tuple[Tensor, Tensor]:
    """The listed queries and keys that the call has."""
    rows, columns = _listed(call).to(call.query.device)
    inside = (rows < call.query.shape[2]) & (columns < call.key.shape[2])
    return (rows, columns) if bool(inside.all()) else (rows[inside], columns[inside])


def _masked(logits: Tensor, call: Call, rows: Tensor, columns: Tensor) -> Tensor:
    """The logits with the bias of each pair, -inf where another mask hides it."""
    full = (*logits.shape[:2], call.query.shape[2], call.key.shape[2])
    if isinstance(call.bias, Tensor):
        logits = logits + call.bias.expand(full)[:, :, rows, columns]
    if isinstance(call.keep, Tensor):
        logits = logits.masked_fill(~call.keep.expand(full)[:, :, rows, columns], float("-inf"))
    for mask in call.masks:
        if mask.pairs() is None or len(call.masks) > 1:
            seen = mask.forward(rows[:, None], columns[:, None]).squeeze(-1)
            logits = logits.masked_fill(~seen, float("-inf"))
    return logits
