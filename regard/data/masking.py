"""Masked language modeling: some tokens of a text are hidden, and the model is to guess them.

    each token is asked for with probability `rate`; of those, a share `masked` is replaced by the mask token, a share
    `random` by a random token, and the rest stays as it is

Devlin et al., BERT, 2018, https://arxiv.org/abs/1810.04805, section 3.1: 15 %, 80 %, 10 %. Hidden anew in each epoch
(dynamic masking): Liu et al., RoBERTa, 2019, https://arxiv.org/abs/1907.11692. Which tokens are hidden depends on seed,
epoch and batch alone, so that a resumed run hides the same.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least, check_one_of
from regard.data.item import even_rows
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import BOS, MARK, PAD, SPECIALS, Subwords
from regard.data.windows import Streams, Windows

MaskedUnit = Literal["token", "word"]


@dataclass(frozen=True, kw_only=True)
class Masking:
    """How many tokens are asked for, and how they are hidden."""

    rate: float = 0.15
    """the probability that a token is asked for"""
    masked: float = 0.8
    """the share of those that the mask token replaces"""
    random: float = 0.1
    """the share of those that a random token replaces"""
    unit: MaskedUnit = "token"
    """whole words (word) are hidden with all of their tokens"""
    seed: int = 1
    """decides which tokens are hidden"""

    def __post_init__(self) -> None:
        check_one_of("masking", get_args(MaskedUnit), unit=self.unit)
        check_at_least("masking", 0, seed=self.seed)
        if not 0 < self.rate < 1:
            raise ConfigError(f"masking: rate must be above 0 and below 1, but is {self.rate}")
        if self.masked < 0 or self.random < 0 or self.masked + self.random > 1:
            raise ConfigError(f"masking: masked ({self.masked}) and random ({self.random}) must be shares of 1")


@dataclass(frozen=True)
class MaskedText:
    """A batch of texts with hidden tokens: `wanted` holds what is asked for, and padding (0) elsewhere."""

    tokens: Int64[Tensor, "batch length"]
    lengths: Int64[Tensor, "batch"]
    wanted: Int64[Tensor, "batch length"]

    @property
    def count(self) -> int:
        """The number of tokens that are asked for."""
        return int((self.wanted != PAD).sum())

    @property
    def size(self) -> int:
        """The same with padding: were all places tokens, so many would be asked for."""
        return round(self.count * self.tokens.numel() / int(self.lengths.sum()))

    def to(self, device: torch.device | str) -> "MaskedText":
        """The same batch on another device."""
        return MaskedText(*(part.to(device, non_blocking=True) for part in (self.tokens, self.lengths, self.wanted)))

    def shares(self, count: int) -> list["MaskedText"]:
        """At most `count` batches with about as many tokens each; rows without a question are dropped."""
        asked = (self.wanted != PAD).any(1).nonzero()[:, 0]
        return [self._share(asked[rows]) for rows in even_rows(self.lengths[asked], count)]

    def _share(self, rows: Int64[Tensor, "rows"]) -> "MaskedText":
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        return MaskedText(self.tokens[rows, :longest], lengths, self.wanted[rows, :longest])


class Hiding:
    """Hides tokens of a vocabulary."""

    def __init__(self, subwords: Subwords, settings: Masking) -> None:
        if subwords.mask is None:
            raise ConfigError("masking: the vocabulary has no mask token")
        self.settings, self.mask, self.vocabulary = settings, subwords.mask, len(subwords)
        self._starts = starts_of_words(subwords)

    def __call__(self, texts: Int64[Tensor, "batch length"], *numbers: int) -> MaskedText:
        """The texts, which padding (0) fills up on the right, after `<s>` and with some tokens hidden.

        The draws depend on the seed and the given numbers alone.
        """
        how, draw = self.settings, np.random.default_rng([self.settings.seed, *numbers])
        tokens = np.pad(texts.numpy(), ((0, 0), (1, 0)), constant_values=BOS)
        chances, fates = draw.random(tokens.shape), draw.random(tokens.shape)
        others = draw.integers(len(SPECIALS), self.vocabulary, tokens.shape)
        plain = (tokens >= len(SPECIALS)) & (tokens != self.mask)
        if how.unit == "word":
            words = self._starts[tokens].cumsum(1)
            chances = np.take_along_axis(chances, words % tokens.shape[1], axis=1)
        asked = plain & (chances < how.rate)
        if not asked.any() and plain.any():  # a step must learn something
            asked.flat[int(np.where(plain, chances, 2.0).argmin())] = True
        hidden = np.where(asked & (fates < how.masked), self.mask, tokens)
        hidden = np.where(asked & (fates >= how.masked) & (fates < how.masked + how.random), others, hidden)
        return MaskedText(
            torch.from_numpy(hidden),
            torch.from_numpy((tokens != PAD).sum(1)),
            torch.from_numpy(np.where(asked, tokens, PAD)),
        )


@dataclass(frozen=True)
class MaskedWindows(Windows[MaskedText]):
    """The windows of a text with hidden tokens, others in each epoch."""

    windows: Streams
    hiding: Hiding

    def at(self, position: BatchPosition) -> MaskedText:
        """The batch at a position."""
        return self.hiding(self.windows.at(position).target, position.epoch, position.index)

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and about how many tokens are asked for."""
        batches, tokens = self.windows.epoch()
        return batches, round(tokens * self.hiding.settings.rate)


def starts_of_words(subwords: Subwords) -> NDArray[np.bool_]:
    """For each id, whether its piece begins a word: marked by ▁ or Ġ, or, as BERT has it, not marked by ##."""
    pieces = subwords.pieces
    marked = np.array([piece.startswith((MARK, "Ġ")) for piece in pieces])
    return marked if marked.any() else np.array([not piece.startswith("##") for piece in pieces])
