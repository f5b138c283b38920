"""The KV cache of a decoder: all keys and values so far."""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from regard.attention.memory import PairMemory
from regard.attention.part import positions_of
from regard.attention.reading import Reading


@dataclass(frozen=True, eq=False)
class Growing(PairMemory):
    """The KV cache. Appending a key and value takes amortized constant time."""

    length: int = 0
    _shelf: "_Shelf | None" = None

    def start(self, reading: Reading) -> "Growing":
        return Growing()

    @property
    def key(self) -> Tensor | None:  # type: ignore[override]
        return None if self._shelf is None else self._shelf.key[:, :, : self.length]

    @property
    def value(self) -> Tensor | None:  # type: ignore[override]
        return None if self._shelf is None else self._shelf.value[:, :, : self.length]

    @property
    def kept(self) -> Tensor | None:  # type: ignore[override]
        return None if self._shelf is None or self._shelf.kept is None else self._shelf.kept[:, : self.length]

    @property
    def at(self) -> Tensor:
        return torch.arange(0) if self._shelf is None else positions_of(self.length, self._shelf.key)

    def extend(self, key: Tensor, value: Tensor, keep: Tensor | None = None) -> Self:
        length = self.length + key.shape[2]
        shelf = self._shelf
        if shelf is None or (torch.is_grad_enabled() and shelf.learns(key, value)):
            shelf = _Shelf.of(self, key, value, keep)
        else:
            missing = keep is not None and shelf.kept is None
            if missing or shelf.filled != self.length or shelf.key.shape[2] < length:
                shelf = shelf.copy(self.length, 2 * length, missing)
            shelf.write(self.length, key, value, keep)
        return type(self)(length, shelf)

    def reorder(self, batch: Tensor) -> Self:
        return self if self._shelf is None else type(self)(self.length, self._shelf.pick(batch, self.length))


class _Shelf:
    """A buffer with spare capacity. Memories share it until two of them write to the same place (copy on write)."""

    def __init__(self, key: Tensor, value: Tensor, kept: Tensor | None, filled: int) -> None:
        self.key, self.value, self.kept, self.filled = key, value, kept, filled

    @classmethod
    def of(cls, memory: Growing, key: Tensor, value: Tensor, keep: Tensor | None) -> "_Shelf":
        """Concatenate the pairs of a memory and these, so that gradients flow through both."""
        if memory.key is None or memory.value is None:
            return cls(key, value, keep, key.shape[2])
        kept = memory.kept
        if kept is not None or keep is not None:
            before = kept if kept is not None else key.new_ones(key.shape[0], memory.length, dtype=torch.bool)
            now = keep if keep is not None else key.new_ones(key.shape[0], key.shape[2], dtype=torch.bool)
            kept = torch.cat([before, now], dim=1)
        keys, values = torch.cat([memory.key, key], dim=2), torch.cat([memory.value, value], dim=2)
        return cls(keys, values, kept, keys.shape[2])

    def learns(self, key: Tensor, value: Tensor) -> bool:
        """Whether the stored pairs or these need gradients."""
        return any(side.requires_grad for side in (self.key, self.value, key, value))

    def copy(self, filled: int, room: int, selective: bool = False) -> "_Shelf":
        """A copy of the first `filled` pairs with more capacity; selective: with a mask of kept pairs."""

        def wider(tensor: Tensor) -> Tensor:
            new = tensor.new_empty(*tensor.shape[:2], room, tensor.shape[3])
            new[:, :, :filled] = tensor[:, :, :filled]
            return new

        kept = None
        if selective or self.kept is not None:
            kept = torch.ones(self.key.shape[0], room, dtype=torch.bool, device=self.key.device)
        if kept is not None and self.kept is not None:
            kept[:, :filled] = self.kept[:, :filled]
        return _Shelf(wider(self.key), wider(self.value), kept, filled)

    def write(self, start: int, key: Tensor, value: Tensor, keep: Tensor | None) -> None:
        stop = start + key.shape[2]
        self.key[:, :, start:stop] = key
        self.value[:, :, start:stop] = value
        if self.kept is not None:
            self.kept[:, start:stop] = True if keep is None else keep
        self.filled = stop

    def pick(self, batch: Tensor, filled: int) -> "_Shelf":
        """A copy of the chosen sequences with the same capacity; what lies beyond `filled` is not copied."""

        def chosen(tensor: Tensor) -> Tensor:
            new = tensor.new_empty(len(batch), tensor.shape[1], tensor.shape[2], tensor.shape[3])
            new[:, :, :filled] = tensor[:, :, :filled].index_select(0, batch)
            return new

        kept: Any = None if self.kept is None else self.kept[batch]
        if torch.is_grad_enabled() and self.key.requires_grad:
            return _Shelf(self.key[batch], self.value[batch], kept, filled)
        return _Shelf(chosen(self.key), chosen(self.value), kept, filled)
