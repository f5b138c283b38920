"""Word dropout: in training each token becomes `<unk>` with some probability, so that no single word decides.

    token ← <unk> with probability `rate`, drawn anew in every epoch

Iyyer et al., Deep Unordered Composition Rivals Syntactic Methods for Text Classification, 2015,
https://aclanthology.org/P15-1162. What is drawn follows from seed, epoch and batch alone, so that a resumed run reads
the same texts.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from regard.base.errors import ConfigError, check_at_least
from regard.data.framed import FramedTexts
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import SPECIALS, UNK


@dataclass(frozen=True, kw_only=True)
class WordDropout:
    """How many tokens of training texts become `<unk>`."""

    rate: float = 0.0
    """the probability that a token is replaced; 0: none"""
    seed: int = 1
    """decides which tokens are replaced"""

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ConfigError(f"word_dropout: rate must be at least 0 and below 1, but is {self.rate}")
        check_at_least("word_dropout", 0, seed=self.seed)

    def __call__(self, texts: FramedTexts, position: BatchPosition) -> FramedTexts:
        """The texts of the batch at a position; marks such as `<s>` stay."""
        if not self.rate:
            return texts
        draw = np.random.default_rng([self.seed, position.epoch, position.index])
        gone = torch.from_numpy(draw.random(texts.tokens.shape) < self.rate) & (texts.tokens >= len(SPECIALS))
        return replace(texts, tokens=texts.tokens.masked_fill(gone, UNK))
