"""What a search finds: a text as tokens, with what the model thought of each of them."""

from dataclasses import dataclass
from math import log

_UNWILLING = log(0.5)


@dataclass(frozen=True)
class Hypothesis:
    """One output.

    `score` is the sum of `token_scores`, the log-probabilities of the tokens and of the `</s>` after them: what
    `score_tokens` gives for them. Lists of hypotheses are sorted by `rank`, the score after the length penalty.
    """

    tokens: tuple[int, ...]
    """without `<s>` and `</s>`; a forced prefix is part of them"""
    score: float
    token_scores: tuple[float, ...]
    """one for each token, and one for `</s>`"""
    rank: float
    cut: bool = False
    """the length limit ended it, while the model would rather have gone on"""

    def __len__(self) -> int:
        """The number of tokens, `</s>` not counted."""
        return len(self.tokens)


def hypothesis(tokens: list[int], token_scores: list[float], score: float, rank: float, limit: int) -> Hypothesis:
    """The hypothesis that a search ended with `</s>`, the last of the token scores being its."""
    cut = len(tokens) >= limit and token_scores[-1] < _UNWILLING
    return Hypothesis(tuple(tokens), score, tuple(token_scores), rank, cut)
