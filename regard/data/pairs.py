"""Batches of sentence pairs as padded tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from regard.data.item import even_rows
from regard.data.subwords.tokenizer import BOS, PAD

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """A batch of translation pairs, padded with 0 on the right.

    The source ends in `</s>`. The decoder reads `target_in`, the target after `<s>` (teacher forcing), and predicts
    `target_out`, the target followed by `</s>`. `count` is the number of target tokens without padding. `links`, for
    guided attention, are (pair, target token, source token), each counted from 0.
    """

    source: Int64[Tensor, "batch source"]
    source_lengths: Int64[Tensor, "batch"]
    target_in: Int64[Tensor, "batch target"]
    target_out: Int64[Tensor, "batch target"]
    target_lengths: Int64[Tensor, "batch"]
    count: int
    links: Int64[Tensor, "links 3"] | None = None

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.source)

    @property
    def size(self) -> int:
        """The number of target tokens, padding included."""
        return self.target_out.numel()

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        return Batch(
            source=self.source.to(device, non_blocking=True),
            source_lengths=self.source_lengths.to(device, non_blocking=True),
            target_in=self.target_in.to(device, non_blocking=True),
            target_out=self.target_out.to(device, non_blocking=True),
            target_lengths=self.target_lengths.to(device, non_blocking=True),
            count=self.count,
            links=None if self.links is None else self.links.to(device, non_blocking=True),
        )

    def shares(self, count: int) -> list["Batch"]:
        """At most `count` batches with about as many tokens each; every pair is in exactly one."""
        return [self._share(rows) for rows in even_rows(self.source_lengths + self.target_lengths, count)]

    def within(self, most: int) -> list["Batch"]:
        """The batch without pairs that have more than `most` tokens on a side; none if no pair is left."""
        rows = (torch.maximum(self.source_lengths, self.target_lengths) <= most).nonzero()[:, 0]
        return [self._share(rows)] if len(rows) else []

    def _share(self, rows: Int64[Tensor, "rows"]) -> "Batch":
        source_lengths, target_lengths = self.source_lengths[rows], self.target_lengths[rows]
        source, target = int(source_lengths.max()), int(target_lengths.max())
        return Batch(
            source=self.source[rows, :source],
            source_lengths=source_lengths,
            target_in=self.target_in[rows, :target],
            target_out=self.target_out[rows, :target],
            target_lengths=target_lengths,
            count=int(target_lengths.sum()),
            links=None if self.links is None else _links_of_rows(self.links, rows, len(self)),
        )


def collate(sources: Sequence[Ids], targets: Sequence[Ids], links: Sequence[Ids] | None = None) -> Batch:
    """Make a batch from ids that end in `</s>`, as a store holds them; links are (target token, source token)."""
    source, source_lengths = pad(sources)
    target_out, target_lengths = pad(targets)
    target_in = torch.roll(target_out, 1, dims=1)
    target_in[:, 0] = BOS
    target_in[torch.arange(target_in.shape[1]) >= target_lengths[:, None]] = PAD
    linked = None if links is None else _numbered(links)
    return Batch(source, source_lengths, target_in, target_out, target_lengths, int(target_lengths.sum()), linked)


def pad(rows: Sequence[Ids]) -> tuple[Int64[Tensor, "batch length"], Int64[Tensor, "batch"]]:
    """Pad rows of ids with 0 on the right to one tensor; returns it and the lengths."""
    lengths = [len(row) for row in rows]
    padded = np.full((len(rows), max(lengths)), PAD, dtype=np.int64)
    for at, row in enumerate(rows):
        padded[at, : len(row)] = row
    return torch.from_numpy(padded), torch.tensor(lengths)


def _links_of_rows(links: Int64[Tensor, "links 3"], rows: Int64[Tensor, "rows"], count: int) -> Int64[Tensor, "own 3"]:
    """The links of these rows, with the rows' new numbers."""
    number = torch.full((count,), -1).scatter(0, rows, torch.arange(len(rows)))
    pairs = number[links[:, 0]]
    return torch.column_stack([pairs, links[:, 1:]])[pairs >= 0]


def _numbered(links: Sequence[Ids]) -> Int64[Tensor, "links 3"]:
    """The links of all pairs, each after the number of its pair."""
    pairs = np.repeat(np.arange(len(links)), [len(found) for found in links])
    return torch.from_numpy(np.column_stack([pairs, np.concatenate(links)]).astype(np.int64))
