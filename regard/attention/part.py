"""The base of all parts: scores, masks, normalizers, positions, memories and backends.

A part is a frozen dataclass: a value that can be compared, printed and written in a config. A part that
needs weights, or the number of heads, makes a module in `build`.
"""

import copy
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from regard.base.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of the attention layer that a part is built for.

    >>> sizes = Sizes(width=512, heads=8, key_heads=8, query_width=64, key_width=64, value_width=64)
    >>> bilinear = scores.Bilinear().build(sizes)
    """

    width: int
    """the width of the layer's input"""
    heads: int
    """the number of attention heads"""
    key_heads: int
    """fewer than `heads` where several query heads share a key head"""
    query_width: int
    """the width of one query head"""
    key_width: int
    """the width of one key head; equal to the query's unless the score allows different widths"""
    value_width: int
    """the width of one value head"""


class Part:
    """A score, mask, normalizer, position, memory or backend."""

    def build(self, sizes: Sizes) -> Any:
        """The working part: itself, or a module that holds its weights."""
        return self

    def select(self, heads: Tensor) -> Self:
        """The part restricted to the chosen attention heads; most parts treat all heads alike."""
        return self

    def unbuilt(self) -> UsageError:
        """The error for a part that is used before `build`."""
        name = type(self).__name__
        return UsageError(f"{name} has weights: use {name}(…).build(sizes), or put it into an Attention(…)")


class PerHead(nn.Module):
    """A built part whose parameters and buffers all have the heads as their first axis."""

    def select(self, heads: Tensor) -> Self:
        """A view of the part with only the chosen attention heads."""
        chosen = copy.copy(self)
        picked = {name: value[heads] for name, value in self._parameters.items() if value is not None}
        object.__setattr__(chosen, "_parameters", picked)
        object.__setattr__(chosen, "_buffers", {n: b[heads] for n, b in self._buffers.items() if b is not None})
        return chosen


def by_head(vectors: Tensor, weight: Tensor) -> Tensor:
    """Each head's vectors, [batch, heads, length, width], times the head's own matrix, [heads, width, other width].

    With one head, as in a recurrent network, it is a single product; a broadcast would make one per sequence.
    """
    if weight.shape[0] == 1:
        return vectors @ weight[0]
    return torch.einsum("bhnd,hde->bhne", vectors, weight)


def positions_of(length: int, like: Tensor, first: int = 0) -> Tensor:
    """first, first + 1, …: the positions of a sequence without gaps."""
    return torch.arange(first, first + length, device=like.device)
