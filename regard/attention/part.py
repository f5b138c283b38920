"""What the five kinds of parts have in common.

A part is a frozen dataclass: a value that can be compared, printed and written in a config. A part that
needs weights, or needs to know the number of heads, gives them to a module in `build`.
"""

import copy
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from regard.base.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """What a part may need to know of the attention that it is built into."""

    width: int
    """of the vectors that enter the layer"""
    heads: int
    key_heads: int
    """fewer than `heads` where several query heads share a key head"""
    query_width: int
    """of one query head"""
    key_width: int
    """of one key head; equal to the query's unless the score brings different widths together"""
    value_width: int
    """of one value head"""


class Part:
    """A score, mask, normalizer, position, memory or backend."""

    def build(self, sizes: Sizes) -> Any:
        """The working part: itself, or a module that holds its weights."""
        return self

    def select(self, heads: Tensor) -> Self:
        """The part as it works in the chosen heads alone; most parts treat all heads alike."""
        return self

    def unbuilt(self) -> UsageError:
        """The error for a part that was put to work before `build`."""
        name = type(self).__name__
        return UsageError(f"{name} has weights: use {name}(…).build(sizes), or put it into an Attention(…)")


class PerHead(nn.Module):
    """A built part whose parameters and buffers all have the heads as their first axis."""

    def select(self, heads: Tensor) -> Self:
        """A view of the part with the chosen heads alone."""
        chosen = copy.copy(self)
        picked = {name: value[heads] for name, value in self._parameters.items() if value is not None}
        object.__setattr__(chosen, "_parameters", picked)
        object.__setattr__(chosen, "_buffers", {n: b[heads] for n, b in self._buffers.items() if b is not None})
        return chosen


def by_head(vectors: Tensor, weight: Tensor) -> Tensor:
    """Each head's vectors, [batch, heads, length, width], times the head's own matrix, [heads, width, other width].

    With one head, the usual case of a recurrent network, it is a single product; a broadcast would make one a sequence.
    """
    if weight.shape[0] == 1:
        return vectors @ weight[0]
    return torch.einsum("bhnd,hde->bhne", vectors, weight)


def positions_of(length: int, like: Tensor, first: int = 0) -> Tensor:
    """first, first + 1, …: where a sequence without gaps stands."""
    return torch.arange(first, first + length, device=like.device)
