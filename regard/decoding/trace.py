"""The trace of a search: the likeliest alternatives of each step, and what became of them."""

from dataclasses import dataclass, field

from jaxtyping import Bool, Float, Int
from torch import Tensor

DROPPED = -1


@dataclass(frozen=True)
class Alternative:
    """A candidate for the next token."""

    beam: int
    """the index of the hypothesis that it would continue, at this step"""
    token: int
    token_score: float
    """its log-probability"""
    score: float
    """the sum of log-probabilities up to and including it"""
    finished: bool
    """whether it was `</s>` and finished the hypothesis"""
    becomes: int
    """the index of the hypothesis that goes on with it, at the next step; DROPPED if none does"""


@dataclass
class Trace:
    """A record that a search fills in: `search(..., trace=trace)`, then `trace[sentence]`."""

    _steps: list[tuple[list[int], tuple[list[list[float]], ...]]] = field(default_factory=list)

    def add(
        self,
        sentences: Int[Tensor, "sentences"],
        beam: Int[Tensor, "sentences seen"],
        token: Int[Tensor, "sentences seen"],
        token_score: Float[Tensor, "sentences seen"],
        score: Float[Tensor, "sentences seen"],
        finished: Bool[Tensor, "sentences seen"],
        becomes: Int[Tensor, "sentences seen"],
    ) -> None:
        """Record one step of the sentences that are still searched."""
        columns = (beam, token, token_score, score, finished, becomes)
        self._steps.append((sentences.tolist(), tuple(column.tolist() for column in columns)))

    def __getitem__(self, sentence: int) -> list[list[Alternative]]:
        """The alternatives at each step of one sentence, the best first."""
        steps = []
        for sentences, columns in self._steps:
            if sentence not in sentences:
                continue
            rows = zip(*(column[sentences.index(sentence)] for column in columns), strict=True)
            seen = (
                Alternative(int(beam), int(token), token_score, score, bool(finished), int(becomes))
                for beam, token, token_score, score, finished, becomes in rows
            )
            steps.append([alternative for alternative in seen if alternative.score > float("-inf")])
        return [step for step in steps if step]
