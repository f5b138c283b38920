"""Language-model batches: windows of a text that runs in parallel streams.

The text is cut into `rows` pieces of equal length, one below the other; window k holds columns k·length onwards. Each
token of the text is predicted exactly once per epoch, from the tokens before it (the first one from `</s>`); padding
fills up the last piece. Any window is reached at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import RegardError, check_at_least
from regard.data.item import even_rows
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS, PAD


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Batch size of a language model: the number of parallel streams (rows) and the tokens per row."""

    rows: int = 32
    """the number of parallel streams that the text is cut into: the rows of a batch"""
    length: int = 128
    """tokens in each row of a batch"""
    context: int = 0
    """tokens before each row that a model with a memory of earlier segments (transformer_xl, xlnet) recalls, without
    learning from them. They are read anew at each step, so that a resumed run recalls the same; 0: none"""

    def __post_init__(self) -> None:
        check_at_least("streams", 1, rows=self.rows, length=self.length)
        check_at_least("streams", 0, context=self.context)


@dataclass(frozen=True)
class TextWindow:
    """A batch of a language model: `target` is `input` shifted by one token; `count` excludes padding."""

    input: Int64[Tensor, "batch length"]
    target: Int64[Tensor, "batch length"]
    count: int
    before: Int64[Tensor, "batch context"] | None = None
    """the tokens before `input`, if any are recalled"""

    def to(self, device: torch.device | str) -> "TextWindow":
        """The same window on another device."""
        moved = self.input.to(device, non_blocking=True), self.target.to(device, non_blocking=True)
        before = None if self.before is None else self.before.to(device, non_blocking=True)
        return TextWindow(*moved, self.count, before)

    @property
    def size(self) -> int:
        """The number of targets, padding included."""
        return self.target.numel()

    def shares(self, count: int) -> list["TextWindow"]:
        """At most `count` windows with about as many tokens each; rows of padding alone are dropped."""
        filled = (self.target != PAD).sum(1)
        return [self._share(rows) for rows in even_rows(filled, count) if filled[rows].any()]

    def _share(self, rows: Int64[Tensor, "rows"]) -> "TextWindow":
        target, before = self.target[rows], None if self.before is None else self.before[rows]
        return TextWindow(self.input[rows], target, int((target != PAD).sum()), before)


@runtime_checkable
class Tokenized(Protocol):
    """A long row of ids that is read in slices: an array, or `store.sides[0].flat` on disk."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> NDArray[Any]: ...


_Item = TypeVar("_Item")


class Windows(ABC, Generic[_Item]):
    """The batches of a text; every epoch has as many, and any of them is reached at once."""

    @abstractmethod
    def at(self, position: BatchPosition) -> _Item:
        """The batch at a position."""

    @abstractmethod
    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and about how many tokens are learned in it."""

    def after(self, position: BatchPosition) -> BatchPosition:
        """The position that follows."""
        return position.next(self.epoch()[0])

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, _Item]]:
        """Each position and its batch from the given one on, without end."""
        position = position or BatchPosition()
        while True:
            yield position, self.at(position)
            position = self.after(position)

    def first_epoch(self) -> list[_Item]:
        """All batches of the first epoch."""
        return [self.at(BatchPosition(index=at)) for at in range(self.epoch()[0])]


class Streams(Windows[TextWindow]):
    """The windows of a text, read on demand."""

    def __init__(self, text: Tokenized, settings: StreamSettings) -> None:
        if not len(text):
            raise RegardError("streams: there is no text")
        self.settings = settings
        self._text = text
        self._columns = -(-len(text) // settings.rows)

    def __len__(self) -> int:
        """The number of windows in an epoch."""
        return -(-self._columns // self.settings.length)

    def at(self, position: BatchPosition) -> TextWindow:
        """The window at a position; every epoch reads the same text in the same order."""
        if not 0 <= position.index < len(self):
            raise IndexError(f"window {position.index} of {len(self)}")
        first = position.index * self.settings.length
        last = min(first + self.settings.length, self._columns)
        context = min(self.settings.context, first)  # a row recalls nothing of the row above it
        begin = first - context
        both = np.full((self.settings.rows, last - begin + 1), PAD, dtype=np.int64)
        for row in range(self.settings.rows):
            start = row * self._columns + begin
            piece = self._text[max(start - 1, 0) : start + last - begin]
            both[row, (start == 0) : (start == 0) + len(piece)] = piece
        if begin == 0:
            both[0, 0] = EOS
        before, inputs, targets = (
            torch.from_numpy(both[:, part].copy())
            for part in (slice(context), slice(context, -1), slice(context + 1, None))
        )
        inputs[targets == PAD] = PAD
        return TextWindow(inputs, targets, int((targets != PAD).sum()), before if context else None)

    def epoch(self) -> tuple[int, int]:
        """How many windows an epoch has, and how many tokens."""
        return len(self), len(self._text)
