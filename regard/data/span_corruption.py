"""Span corruption: spans of a text are replaced by sentinels, and the model is to write what they were.

    text    Thank you for inviting me to your party last week .
    source  Thank you <extra_id_0> me to your party <extra_id_1> week .
    target  <extra_id_0> for inviting <extra_id_1> last

Raffel et al., T5, 2020, https://arxiv.org/abs/1910.10683, section 3.1.4: 15 % of the tokens, in spans of 3 on average.
Both counts follow from the length of a text; all ways to place as many spans apart are equally likely.
(T5's own program always ends a text with a hidden span, which in a short text would be the only one.) The draws depend
on seed, epoch and batch alone, so that a resumed run hides the same.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from regard.base.errors import ConfigError, check_at_least
from regard.data.pairs import Batch, collate
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS, PAD, Subwords
from regard.data.windows import Streams, Windows

SENTINEL = "<extra_id_{}>"


@dataclass(frozen=True, kw_only=True)
class Corruption:
    """How much of a text is hidden, and in how long spans."""

    rate: float = 0.15
    """the share of tokens that is hidden"""
    span: float = 3.0
    """the mean length of a hidden span, in tokens"""
    sentinels: int = 100
    """the number of sentinels, and so of spans that a text can have; T5's vocabularies have 100"""
    seed: int = 1
    """decides which tokens are hidden"""

    def __post_init__(self) -> None:
        check_at_least("corruption", 0, seed=self.seed)
        check_at_least("corruption", 1, sentinels=self.sentinels, span=self.span)
        if not 0 < self.rate < 1:
            raise ConfigError(f"corruption: rate must be above 0 and below 1, but is {self.rate}")

    def counts(self, length: int) -> tuple[int, int]:
        """How many tokens of a text of this length are hidden, and in how many spans."""
        hidden = min(max(round(length * self.rate), 1), max(length - 1, 1))
        spans = max(round(hidden / self.span), 1)
        return hidden, min(spans, length - hidden + 1)


def with_sentinels(subwords: Subwords, most: int) -> Subwords:
    """The tokenizer with so many sentinels; those that it has not yet are added at its end."""
    names = [SENTINEL.format(at) for at in range(most)]
    return subwords.with_words([name for name in names if subwords.tokenizer.token_to_id(name) is None])


def sentinels_in(subwords: Subwords) -> int:
    """How many sentinels a tokenizer has."""
    return next(at for at in count() if subwords.tokenizer.token_to_id(SENTINEL.format(at)) is None)


class Corrupting:
    """Hides spans of texts of a vocabulary."""

    def __init__(self, subwords: Subwords, settings: Corruption, longest: int) -> None:
        self.settings = settings
        ids = [subwords.tokenizer.token_to_id(SENTINEL.format(at)) for at in range(settings.sentinels)]
        self.sentinels = np.array([number for number in ids if number is not None])
        needed = settings.counts(longest)[1]
        if needed > len(self.sentinels):
            raise ConfigError(
                f"corruption: texts of {longest} tokens have {needed} hidden spans, but there are "
                f"{len(self.sentinels)} sentinels; set corruption.sentinels = {needed}, or a smaller streams.length"
            )

    def __call__(self, texts: Int64[Tensor, "batch length"], *numbers: int) -> Batch:
        """Texts, which padding (0) fills up on the right, as pairs of what is left and what was hidden.

        The draws depend on the seed and the given numbers alone.
        """
        draw = np.random.default_rng([self.settings.seed, *numbers])
        rows = [row[row != PAD] for row in texts.numpy()]
        pairs = [self.hide(row, draw) for row in rows if len(row)]
        return collate(*zip(*pairs, strict=True))

    def hide(self, text: NDArray[np.int64], draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The source and the target of one text, each with `</s>` at its end."""
        hidden, spans = self.settings.counts(len(text))
        before = _parted(len(text) - hidden + 2, spans + 1, draw)
        before[0] -= 1  # a text may begin with a hidden span, and end with one
        source: list[NDArray[np.int64]] = []
        target: list[NDArray[np.int64]] = []
        at, end_of_text = 0, np.array([EOS])
        for sentinel, left, gone in zip(self.sentinels[:spans], before, _parted(hidden, spans, draw), strict=False):
            middle, end = at + left, at + left + gone
            mark = np.array([sentinel])
            source += [text[at:middle], mark]
            target += [mark, text[middle:end]]
            at = end
        return np.concatenate([*source, text[at:], end_of_text]), np.concatenate([*target, end_of_text])


def _parted(total: int, parts: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """The lengths of so many parts of at least 1; all ways to cut are equally likely."""
    cuts = np.sort(draw.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff(np.concatenate([[0], cuts, [total]]))


@dataclass(frozen=True)
class CorruptedWindows(Windows[Batch]):
    """The windows of a text with hidden spans, others in each epoch."""

    windows: Streams
    corrupting: Corrupting

    def at(self, position: BatchPosition) -> Batch:
        """The batch at a position."""
        return self.corrupting(self.windows.at(position).target, position.epoch, position.index)

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and about how many target tokens: hidden ones, sentinels and `</s>`."""
        batches, tokens = self.windows.epoch()
        length = self.windows.settings.length
        hidden, spans = self.corrupting.settings.counts(length)
        return batches, round(tokens * (hidden + spans + 1) / length)
