"""A rolling KV cache: only the last keys and values, so that its size does not grow with the text.

Dai et al., Transformer-XL, 2019, https://arxiv.org/abs/1901.02860
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.memory import PairMemory
from regard.attention.part import positions_of
from regard.attention.reading import Reading
from regard.attention.sight import Sight, Stretch
from regard.base.errors import check_at_least


@dataclass(frozen=True, eq=False)
class Rolling(PairMemory):
    """A query sees the last `size` keys and values, its own included; older ones are dropped."""

    size: int
    """how many of the last keys and values are kept"""
    length: int = 0
    key: Tensor | None = None
    value: Tensor | None = None
    kept: Tensor | None = None

    def __post_init__(self) -> None:
        check_at_least("rolling", 1, size=self.size)

    def start(self, reading: Reading) -> "Rolling":
        return Rolling(self.size)

    @property
    def at(self) -> Tensor:
        if self.key is None:
            return torch.arange(0)
        return positions_of(self.key.shape[2], self.key, first=self.length - self.key.shape[2])

    def reach(self) -> Mask:
        return _Recent(self.size)

    def extend(self, key: Tensor, value: Tensor, keep: Tensor | None = None) -> Self:
        length, new = self.length + key.shape[2], keep
        if self.key is not None and self.value is not None:
            if self.kept is not None or keep is not None:
                new = torch.cat([_or_all(self.kept, self.key), _or_all(keep, key)], dim=1)
            key, value = torch.cat([self.key, key], dim=2), torch.cat([self.value, value], dim=2)
        # The first of the new queries still reaches size - 1 pairs back.
        held = min(key.shape[2], self.size - 1 + max(1, length - self.length))
        new = None if new is None else new[:, -held:]
        return type(self)(self.size, length, key[:, :, -held:], value[:, :, -held:], new)

    def reorder(self, batch: Tensor) -> Self:
        picked = [None if tensor is None else tensor[batch] for tensor in (self.key, self.value, self.kept)]
        return type(self)(self.size, self.length, *picked)


@dataclass(frozen=True)
class _Recent(Mask):
    """Fewer than `size` positions back."""

    size: int

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return rows - columns < self.size

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        return Sight(rows.low - columns.high < self.size, rows.high - columns.low < self.size)


def _or_all(kept: Tensor | None, key: Tensor) -> Tensor:
    return key.new_ones(key.shape[0], key.shape[2], dtype=torch.bool) if kept is None else kept
