"""A correct attention, and the same with one fault planted in each."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from regard.audit.adapters.layer_module import LayerModule
from regard.audit.subject import Claims, Inputs

WIDTH, HEADS = 8, 2


def weights_over(logits: Tensor, keep: Tensor | None) -> Tensor:
    """Softmax over what may be seen; zeros where that is nothing."""
    if keep is None:
        return logits.softmax(-1)
    logits = logits.masked_fill(~keep, -1e30)
    return logits.softmax(-1) * keep


def attention(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    """Correct."""
    return weights_over(query @ key.mT / query.shape[-1] ** 0.5, keep) @ value


def without_scale(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return weights_over(query @ key.mT, keep) @ value


def scaled_by_width_of_all(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return weights_over(query @ key.mT / (query.shape[-1] * query.shape[1]) ** 0.5, keep) @ value


def added_mask(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    logits = query @ key.mT / query.shape[-1] ** 0.5
    return (logits if keep is None else logits + keep.to(logits)).softmax(-1) @ value


def weak_mask(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    logits = query @ key.mT / query.shape[-1] ** 0.5
    return (logits if keep is None else logits - 10.0 * ~keep).softmax(-1) @ value


def inverted_mask(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query, key, value, None if keep is None else ~keep)


def ignored_mask(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query, key, value, None)


def transposed_mask(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    square = keep is not None and keep.shape[-1] == keep.shape[-2]
    return attention(query, key, value, keep.mT if square and keep is not None else keep)


def mask_of_the_first(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query, key, value, None if keep is None else keep[:1].expand_as(keep))


def infinite_mask(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    logits = query @ key.mT / query.shape[-1] ** 0.5
    return (logits if keep is None else logits.masked_fill(~keep, -torch.inf)).softmax(-1) @ value


def uniform_when_blind(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    logits = query @ key.mT / query.shape[-1] ** 0.5
    return (logits if keep is None else logits.masked_fill(~keep, -1e9)).softmax(-1) @ value


def masked_after_softmax(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)
    return (weights if keep is None else weights * keep) @ value


def softmax_over_queries(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return (query @ key.mT / query.shape[-1] ** 0.5).softmax(-2) @ value


def swapped_heads(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query, key, value.flip(1), keep)


def swapped_key_and_value(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query, value, key, keep)


def mixed_batch(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query, key, value - value.mean(0, keepdim=True) + value[:1].mean(), keep)


def dropout_left_on(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return torch.dropout(attention(query, key, value, keep), 0.3, True)


def rounded_to_half(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return attention(query.bfloat16(), key.bfloat16(), value.bfloat16(), keep).to(query)


def detached_weights(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    return weights_over(query @ key.mT / query.shape[-1] ** 0.5, keep).detach() @ value


def last_key_favored(query: Tensor, key: Tensor, value: Tensor, keep: Tensor | None) -> Tensor:
    logits = query @ key.mT / query.shape[-1] ** 0.5
    logits = torch.cat([logits[..., :-1], logits[..., -1:] + 0.5], -1)
    return weights_over(logits, keep) @ value


FUNCTIONS: dict[Callable[..., Tensor], set[str]] = {
    without_scale: {"definition"},
    scaled_by_width_of_all: {"definition"},
    added_mask: {"forbidden"},
    weak_mask: {"forbidden"},
    inverted_mask: {"forbidden"},
    ignored_mask: {"forbidden"},
    transposed_mask: {"forbidden"},
    mask_of_the_first: {"company"},
    infinite_mask: {"blindness"},
    uniform_when_blind: {"blindness"},
    masked_after_softmax: {"definition"},
    softmax_over_queries: {"definition"},
    swapped_heads: {"definition"},
    swapped_key_and_value: {"definition"},
    mixed_batch: {"company"},
    dropout_left_on: {"company"},
    rounded_to_half: {"definition"},
    detached_weights: {"gradients"},
    last_key_favored: {"permutation"},
}
"""each fault, with a law that must find it"""


class Layer(nn.Module):
    """Causal self-attention with rotated positions and a cache: correct, unless a fault is named."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fault = fault
        self.project, self.merge = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(
        self, x: Tensor, keep: Tensor | None = None, before: Any = None, start: int | None = None
    ) -> tuple[Tensor, Any]:
        batch, length, _ = x.shape
        query, key, value = self.project(x).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        past = 0 if before is None else before[0].shape[2]
        first = past if start is None else start
        if self.fault == "cached positions start again":
            first = 0
        key_first = first + (self.fault == "keys one position off" and past > 0)
        if self.fault != "no positions":
            query, key = rotated(query, first), rotated(key, key_first)
            if self.fault == "absolute":
                query = query + torch.arange(first, first + length).to(query)[:, None]
        if before is not None:
            if self.fault == "stale cache":
                before = (before[0].roll(1, 2), before[1])
            if self.fault == "forgets the first":
                before = tuple(part[:, :, 1:] for part in before)
            key, value = torch.cat([before[0], key], 2), torch.cat([before[1], value], 2)
        off = int(self.fault == "causal off by one")
        aligned = 0 if self.fault == "causal from the corner" else key.shape[2] - length
        may = torch.ones(length, key.shape[2], dtype=torch.bool).tril(aligned + off)
        may = may if keep is None else may & keep[:, None]
        read = attention(query, key, value, may).transpose(1, 2).flatten(2)
        if self.fault == "pads into the mean":
            read = read - read.mean(1, keepdim=True)
        return self.merge(read), (key, value)


def rotated(x: Tensor, first: int) -> Tensor:
    """Rotary positions for heads of 4 numbers."""
    at = torch.arange(first, first + x.shape[2]).to(x)
    angle = at[:, None] * torch.tensor([1.0, 0.1]).to(x)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


class LayerUnderAudit(LayerModule):
    """The layer, with its cache."""

    def __init__(self, fault: str = "") -> None:
        super().__init__(Layer(fault), WIDTH)
        self.claims = Claims(causal=True, positions="relative")

    def cached(self, inputs: Inputs, cut: int) -> Tensor | None:
        first, second = inputs["x"].split([cut, inputs["x"].shape[1] - cut], 1)
        before, cache = self.module(first)
        return torch.cat([before, self.module(second, None, cache)[0]], 1)

    def shifted(self, inputs: Inputs, by: int) -> Tensor | None:
        output: Tensor = self.module(inputs["x"], None, None, by)[0]
        return output


LAYERS = {
    "causal off by one": "causality",
    "causal from the corner": "caching",
    "cached positions start again": "caching",
    "keys one position off": "caching",
    "stale cache": "caching",
    "forgets the first": "caching",
    "no positions": "positioning",
    "absolute": "positioning",
    "pads into the mean": "padding",
}
"""each fault, with a law that must find it"""


def found_by(law: str) -> list[Any]:
    """The faults that a law must find."""
    functions: list[Any] = [mutant for mutant, laws in FUNCTIONS.items() if law in laws]
    return functions + [LayerUnderAudit(fault) for fault, found in LAYERS.items() if found == law]


def name_of(mutant: Any) -> str:
    """The name of a fault."""
    return str(getattr(mutant, "__name__", "") or mutant.module.fault)
