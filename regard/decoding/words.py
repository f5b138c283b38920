"""A shortlisted vocabulary with ids of its own.

A search sees only this small vocabulary. Its inputs are converted to the small ids, and its outputs back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.decoding.hypothesis import Hypothesis
from regard.layers.inference.filled import missing


@dataclass(frozen=True)
class Words:
    """The shortlisted words of each sentence of a batch: first those common to all sentences, then its own.

    The small id of a word is its index. Sentences have different numbers of own words; they are padded, to whole
    chunks.
    """

    tokens: Int[Tensor, "sentences words"]
    """the ids of the words in the vocabulary"""
    common: int
    """how many of them are common to all sentences"""
    own: Int[Tensor, "sentences"]
    """how many are the sentence's own"""

    @cached_property
    def bias(self) -> Float[Tensor, "sentences words"]:
        """-∞ at padding, else 0."""
        beyond = torch.arange(self.tokens.shape[1], device=self.own.device) >= self.common + self.own[:, None]
        return torch.zeros(self.tokens.shape, device=self.own.device).masked_fill_(beyond, -torch.inf)

    @classmethod
    def of(cls, common: Sequence[int] | NDArray[np.int64], own: Sequence[Sequence[int]], device: torch.device) -> Self:
        """From the common words and those of each sentence; no word occurs twice in a sentence."""
        most = max(map(len, own))
        most += missing(len(common) + most)
        table = np.zeros((len(own), len(common) + most), np.int64)
        table[:, : len(common)] = common
        for row, words in zip(table, own, strict=True):
            row[len(common) : len(common) + len(words)] = words
        lengths = torch.tensor([len(words) for words in own], device=device)
        return cls(torch.from_numpy(table).to(device), len(common), lengths)

    def pick(self, sentences: Int[Tensor, "kept"]) -> Self:
        """The words of some of the sentences."""
        return replace(self, tokens=self.tokens[sentences], own=self.own[sentences])

    def inside(self, sentence: int, tokens: Sequence[int]) -> tuple[int, ...]:
        """The small ids of these tokens in a sentence; those that are not listed are dropped."""
        if not tokens:
            return ()
        own = self.tokens[sentence].cpu().numpy()
        found = (_place(own, token) for token in tokens)
        return tuple(place for place in found if place is not None)

    def outside(self, found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """Convert the tokens of hypotheses back to ids of the vocabulary."""
        return [
            [replace(one, tokens=tuple(row[list(one.tokens)].tolist())) for one in own]
            for row, own in zip(self.tokens.cpu().numpy(), found, strict=True)
        ]

    def vocabulary(self, numbers: Int[Tensor, "rows"]) -> Int[Tensor, "rows"]:
        """Convert small ids, one per hypothesis, to ids of the vocabulary; sentences have equally many hypotheses."""
        return self.tokens.gather(1, numbers.view(len(self.tokens), -1)).flatten()

    def select(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows words"]:
        """Select the logits of the words from those of the vocabulary."""
        beams = len(logits) // len(self.tokens)
        listed = logits.view(len(self.tokens), beams, -1).gather(2, self.tokens[:, None].expand(-1, beams, -1))
        return listed.add_(self.bias[:, None]).flatten(0, 1)


def _place(own: Int[np.ndarray, "words"], token: int) -> int | None:
    """Where a token is first listed; the special ones stand first, at their own ids."""
    if token < len(own) and own[token] == token:
        return token
    places = np.flatnonzero(own == token)
    return int(places[0]) if len(places) else None


@dataclass(frozen=True)
class ListedOutput:
    """An output layer that computes only the logits of `Words`: one product for the common ones, one for the others."""

    weight: Float[Tensor, "common width"]
    bias: Float[Tensor, "common"] | None
    own_weight: Float[Tensor, "sentences width own"]
    own_bias: Float[Tensor, "sentences 1 own"]

    @classmethod
    def of(cls, output: nn.Linear, words: Words) -> Self:
        """Select the weights of an output layer for these words."""
        common, own = words.tokens[0, : words.common], words.tokens[:, words.common :]
        own_bias = words.bias[:, words.common :]
        if output.bias is not None:
            own_bias = own_bias + output.bias[own]
        bias = None if output.bias is None else output.bias[common]
        return cls(output.weight[common], bias, output.weight[own].mT, own_bias[:, None])

    def pick(self, sentences: Int[Tensor, "kept"]) -> Self:
        """Keep some of the sentences."""
        return replace(self, own_weight=self.own_weight[sentences], own_bias=self.own_bias[sentences])

    def __call__(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows words"]:
        sentences, beams = len(self.own_weight), len(x) // len(self.own_weight)
        own = torch.baddbmm(self.own_bias, x.view(sentences, beams, -1), self.own_weight)
        return torch.cat([linear(x, self.weight, self.bias), own.flatten(0, 1)], dim=1)
