"""Permutation language modeling: the tokens of a text in a random order, of which the last ones are guessed.

    order drawn for each text; of n tokens the last n / `spread` in the order are asked for, each from those before it

Yang et al., XLNet, 2019, https://arxiv.org/abs/1906.08237, sections 2.2 and 2.3 (partial prediction). Which order is
drawn depends on seed, epoch and batch alone, so that a resumed run draws the same.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from regard.base.errors import check_at_least
from regard.data.item import even_rows
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import PAD
from regard.data.windows import Streams, Windows


@dataclass(frozen=True, kw_only=True)
class Permuting:
    """How orders are drawn, and how many tokens are asked for."""

    spread: int = 6
    """K: one in this many tokens is asked for, those at the end of the order"""
    seed: int = 1
    """decides the orders"""

    def __post_init__(self) -> None:
        check_at_least("permuting", 1, spread=self.spread)
        check_at_least("permuting", 0, seed=self.seed)


@dataclass(frozen=True)
class PermutedText:
    """A batch of texts, each in an order of its own: position i is number `rank[i]` in it."""

    tokens: Int64[Tensor, "batch length"]
    lengths: Int64[Tensor, "batch"]
    rank: Int64[Tensor, "batch length"]
    asked: Int64[Tensor, "batch asked"]
    """the positions that are asked for; short texts repeat their last one, which `wanted` does not count"""
    wanted: Int64[Tensor, "batch asked"]
    """the tokens at those positions; padding (0) where nothing is asked"""
    before: Int64[Tensor, "batch context"]
    """the text before each, which is only recalled"""

    @property
    def count(self) -> int:
        """The number of tokens that are asked for."""
        return int((self.wanted != PAD).sum())

    @property
    def size(self) -> int:
        """The same with padding."""
        return self.wanted.numel()

    def to(self, device: torch.device | str) -> "PermutedText":
        """The same batch on another device."""
        return PermutedText(*(part.to(device, non_blocking=True) for part in vars(self).values()))

    def shares(self, count: int) -> list["PermutedText"]:
        """At most `count` batches with about as many tokens each; rows of padding alone are dropped."""
        filled = (self.wanted != PAD).any(1).nonzero()[:, 0]
        return [self.rows(filled[rows]) for rows in even_rows(self.lengths[filled], count)]

    def rows(self, chosen: Int64[Tensor, "rows"]) -> "PermutedText":
        """Some of the texts."""
        return replace(self, **{name: part[chosen] for name, part in vars(self).items()})


@dataclass(frozen=True)
class PermutedWindows(Windows[PermutedText]):
    """The windows of a text in random orders, others in each epoch."""

    windows: Streams
    settings: Permuting

    def at(self, position: BatchPosition) -> PermutedText:
        """The batch at a position."""
        window = self.windows.at(position)
        tokens = window.target
        lengths = (tokens != PAD).sum(1)
        draw = np.random.default_rng([self.settings.seed, position.epoch, position.index])
        chances = torch.from_numpy(draw.random(tokens.shape)).masked_fill(tokens == PAD, 2.0)
        rank = chances.argsort(1).argsort(1)
        asked_of = (lengths / self.settings.spread).ceil().long()
        most = int(asked_of.max())
        number = (lengths[:, None] - 1 - torch.arange(most)).clamp(min=0)
        asked = chances.argsort(1).gather(1, number)
        wanted = tokens.gather(1, asked).masked_fill(torch.arange(most) >= asked_of[:, None], PAD)
        before = tokens[:, :0] if window.before is None else torch.cat([window.before[:, 1:], window.input[:, :1]], 1)
        return PermutedText(tokens, lengths, rank, asked, wanted, before)

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and about how many tokens are asked for."""
        batches, tokens = self.windows.epoch()
        return batches, tokens // self.settings.spread
