"""A part of the vocabulary to search in, with numbers of its own.

A search does not know of it: it sees a small vocabulary. What goes in is renumbered, and what comes out is numbered as
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from regard.decoding.hypothesis import Hypothesis
from regard.layers.inference.filled import missing


@dataclass(frozen=True)
class Words:
    """The words that each sentence of a batch is searched in: first those of every sentence, then its own.

    Inside, a word has the number of its place. Sentences have different numbers of own words; they are filled up, to
    whole chunks of words that are looked at together.
    """

    tokens: Int[Tensor, "sentences words"]
    """what the words are in the vocabulary"""
    common: int
    """how many of them are the same in every sentence"""
    bias: Float[Tensor, "sentences words"]
    """-∞ where a place is only filled up, else 0"""

    @classmethod
    def of(cls, common: Sequence[int], own: Sequence[Sequence[int]], device: torch.device) -> Self:
        """From the words of every sentence and those of each; no word is twice in a sentence."""
        most = max(map(len, own))
        most += missing(len(common) + most)
        rows = [[*common, *words, *[0] * (most - len(words))] for words in own]
        tokens = torch.tensor(rows, dtype=torch.long, device=device)
        lengths = torch.tensor([len(common) + len(words) for words in own], device=device)
        beyond = torch.arange(tokens.shape[1], device=device) >= lengths[:, None]
        return cls(tokens, len(common), torch.zeros(tokens.shape, device=device).masked_fill_(beyond, -torch.inf))

    def pick(self, sentences: Int[Tensor, "kept"]) -> Self:
        """The words of some of the sentences."""
        return replace(self, tokens=self.tokens[sentences], bias=self.bias[sentences])

    def inside(self, sentence: int, tokens: Sequence[int]) -> tuple[int, ...]:
        """The numbers of these tokens in the words of a sentence; those that are not listed are left out."""
        own = self.tokens[sentence].tolist()
        return tuple(own.index(token) for token in tokens if token in own)

    def outside(self, found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """The hypotheses of every sentence in tokens of the vocabulary."""
        return [
            [replace(one, tokens=tuple(row[at] for at in one.tokens)) for one in own]
            for row, own in zip(self.tokens.tolist(), found, strict=True)
        ]

    def vocabulary(self, numbers: Int[Tensor, "rows"]) -> Int[Tensor, "rows"]:
        """What the words of hypotheses, of which each sentence has equally many, are in the vocabulary."""
        return self.tokens.gather(1, numbers.view(len(self.tokens), -1)).flatten()

    def select(self, logits: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows words"]:
        """Of the logits of all tokens, those of the words."""
        beams = len(logits) // len(self.tokens)
        listed = logits.view(len(self.tokens), beams, -1).gather(2, self.tokens[:, None].expand(-1, beams, -1))
        return listed.add_(self.bias[:, None]).flatten(0, 1)


@dataclass(frozen=True)
class ListedOutput:
    """An output layer that computes logits of `Words` alone: one product for the common ones, one for the others."""

    weight: Float[Tensor, "common width"]
    bias: Float[Tensor, "common"] | None
    own_weight: Float[Tensor, "sentences width own"]
    own_bias: Float[Tensor, "sentences 1 own"]

    @classmethod
    def of(cls, output: nn.Linear, words: Words) -> Self:
        """The parts of an output layer that matter for these words."""
        common, own = words.tokens[0, : words.common], words.tokens[:, words.common :]
        own_bias = words.bias[:, words.common :]
        if output.bias is not None:
            own_bias = own_bias + output.bias[own]
        bias = None if output.bias is None else output.bias[common]
        return cls(output.weight[common], bias, output.weight[own].mT, own_bias[:, None])

    def pick(self, sentences: Int[Tensor, "kept"]) -> Self:
        """For some of the sentences."""
        return replace(self, own_weight=self.own_weight[sentences], own_bias=self.own_bias[sentences])

    def __call__(self, x: Float[Tensor, "rows width"]) -> Float[Tensor, "rows words"]:
        sentences, beams = len(self.own_weight), len(x) // len(self.own_weight)
        own = torch.baddbmm(self.own_bias, x.view(sentences, beams, -1), self.own_weight)
        return torch.cat([linear(x, self.weight, self.bias), own.flatten(0, 1)], dim=1)
