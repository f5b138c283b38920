"""A part of the vocabulary to search in, with numbers of its own.

A search does not know of it: it sees a small vocabulary. What goes in is renumbered, and what comes out is numbered as
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.decoding.hypothesis import Hypothesis


@dataclass(frozen=True)
class Words:
    """The words that a batch is searched in. Inside, they are numbered from 0, in the order of the vocabulary."""

    tokens: Int[Tensor, "words"]
    """what they are in the vocabulary"""
    bias: Float[Tensor, "sentences words"] | None
    """-∞ where a word is not in the sentence's own list, else 0; None if there is one sentence"""

    def inside(self, tokens: Sequence[int]) -> tuple[int, ...]:
        """The numbers of these tokens in here; those that are not listed are left out."""
        at = torch.searchsorted(self.tokens, torch.tensor(tokens, device=self.tokens.device))
        found = self.tokens[at.clamp(max=len(self.tokens) - 1)].tolist()
        return tuple(place for place, token, own in zip(at.tolist(), tokens, found, strict=True) if token == own)

    def outside(self, found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """The hypotheses in tokens of the vocabulary."""
        tokens = self.tokens.tolist()
        return [[replace(one, tokens=tuple(tokens[at] for at in one.tokens)) for one in own] for own in found]
