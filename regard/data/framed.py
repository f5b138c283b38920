"""One or two texts as an encoder reads them: `<s> first </s>` or `<s> first </s> second </s>`, padded in a batch.

The tokens of the second text are of segment 1, all others of segment 0. Devlin et al., 2018,
https://arxiv.org/abs/1810.04805, figure 2; RoBERTa puts two `</s>` between the texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from regard.data.pairs import pad
from regard.data.subwords.tokenizer import BOS, EOS, Subwords


@dataclass(frozen=True)
class FramedTexts:
    """A batch of texts, padded with 0 on the right."""

    tokens: Int64[Tensor, "batch length"]
    lengths: Int64[Tensor, "batch"]
    segments: Int64[Tensor, "batch length"]

    def to(self, device: torch.device | str) -> "FramedTexts":
        """The same batch on another device."""
        return FramedTexts(*(part.to(device, non_blocking=True) for part in self.parts))

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """What an encoder is given: tokens, lengths and segments."""
        return self.tokens, self.lengths, self.segments

    def pick(self, rows: Int64[Tensor, "rows"]) -> "FramedTexts":
        """Some of the texts, without padding that none of them needs."""
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        return FramedTexts(self.tokens[rows, :longest], lengths, self.segments[rows, :longest])


@dataclass(frozen=True, kw_only=True)
class Frame:
    """How texts are joined and shortened."""

    longest: int | None = None
    """the most tokens that are read; of a longer example, the longer text is shortened first"""
    separators: int = 1
    """how many `</s>` stand between two texts"""

    def row(self, texts: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
        """The tokens and segments of one example, made of the ids of one or two texts."""
        alone = len(texts) == 1
        room = None if self.longest is None else self.longest - (2 if alone else 2 + self.separators)
        first, second = _shortened(list(texts[0]), [] if alone else list(texts[1]), room)
        if alone:
            return [BOS, *first, EOS], [0] * (len(first) + 2)
        before = [BOS, *first, *[EOS] * self.separators]
        return [*before, *second, EOS], [0] * len(before) + [1] * (len(second) + 1)

    def rows(self, subwords: Subwords, texts: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
        """The tokens and segments of each example."""
        found = iter(subwords.encode_batch(list(chain.from_iterable(texts))))
        return [self.row([next(found) for _ in example]) for example in texts]


def batch_of(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> FramedTexts:
    """The examples side by side."""
    tokens, lengths = pad([np.array(row, dtype=np.int64) for row, _ in rows])
    segments, _ = pad([np.array(part, dtype=np.int64) for _, part in rows])
    return FramedTexts(tokens, lengths, segments)


def _shortened(first: list[int], second: list[int], room: int | None) -> tuple[list[int], list[int]]:
    """The texts within the room; of the longer one more is cut off, so that a short one stays whole if it can."""
    if room is None or len(first) + len(second) <= room:
        return first, second
    room = max(room, 0)
    shorter = min(len(first), len(second), room // 2)
    if len(first) <= len(second):
        return first[:shorter], second[: room - shorter]
    return first[: room - shorter], second[:shorter]
