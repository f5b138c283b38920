"""A hypothesis of a search: its tokens and their log-probabilities."""

from dataclasses import dataclass
from math import log

_UNWILLING = log(0.5)


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search.

    `score` is the sum of `token_scores`, the log-probabilities of the tokens and of the `</s>` after them, as
    `score_tokens` gives them. Hypotheses are sorted by `rank`, the score after the length penalty.
    """

    tokens: tuple[int, ...]
    """without the token it starts after and without `</s>`, with a forced prefix"""
    score: float
    token_scores: tuple[float, ...]
    """one for each token, and one for `</s>`"""
    rank: float
    cut: bool = False
    """whether the length limit ended it although the model preferred to go on"""

    def __len__(self) -> int:
        """The number of tokens without `</s>`."""
        return len(self.tokens)


def hypothesis(tokens: list[int], token_scores: list[float], score: float, rank: float, limit: int) -> Hypothesis:
    """Make a finished hypothesis; the last of the token scores is that of `</s>`."""
    cut = len(tokens) >= limit and token_scores[-1] < _UNWILLING
    return Hypothesis(tuple(tokens), score, tuple(token_scores), rank, cut)
