"""A batch cut into shares that can be worked on side by side, each with about as much work as the others.

Rows of like length go into the same share, which is then no wider than its own longest row: together the shares hold
less padding than the batch did.
"""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Int64
from torch import Tensor

from regard.data.pairs import Batch
from regard.data.subwords.tokenizer import PAD
from regard.data.windows import TextWindow

_Rows = Int64[Tensor, "rows"]


def shares(item: Any, count: int) -> list[Any]:
    """At most `count` shares, none of them empty; every row is in exactly one. Other things stay whole."""
    if isinstance(item, Batch):
        return [_of_batch(item, rows) for rows in _cut(item.source_lengths + item.target_lengths, count)]
    if not isinstance(item, TextWindow):
        return [item]
    filled = (item.target != PAD).sum(1)
    return [_of_window(item, rows) for rows in _cut(filled, count) if filled[rows].any()]


def _cut(sizes: Int64[Tensor, "batch"], count: int) -> list[Tensor]:
    """The numbers of the rows of each share: sorted by size, and cut where the sum reaches the next even part."""
    order = sizes.argsort(stable=True)
    before = sizes[order].cumsum(0) - sizes[order]
    share = before * count // sizes.sum().clamp(min=1)
    return [rows for rows in (order[share == number] for number in range(count)) if len(rows)]


def _of_batch(batch: Batch, rows: _Rows) -> Batch:
    source_lengths, target_lengths = batch.source_lengths[rows], batch.target_lengths[rows]
    source, target = int(source_lengths.max()), int(target_lengths.max())
    return Batch(
        source=batch.source[rows, :source],
        source_lengths=source_lengths,
        target_in=batch.target_in[rows, :target],
        target_out=batch.target_out[rows, :target],
        target_lengths=target_lengths,
        tokens=int(target_lengths.sum()),
        links=None if batch.links is None else _of_links(batch.links, rows, len(batch)),
    )


def _of_links(links: Int64[Tensor, "links 3"], rows: _Rows, count: int) -> Int64[Tensor, "own 3"]:
    """The links of these rows, with the rows' new numbers."""
    number = torch.full((count,), -1).scatter(0, rows, torch.arange(len(rows)))
    pairs = number[links[:, 0]]
    return torch.column_stack([pairs, links[:, 1:]])[pairs >= 0]


def _of_window(window: TextWindow, rows: _Rows) -> TextWindow:
    target = window.target[rows]
    return replace(window, input=window.input[rows], target=target, tokens=int((target != PAD).sum()))
