"""The way of a search, word by word: what it considered at each step, what went on, and what became the output."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.subwords.tokenizer import EOS
from regard.decoding.trace import DROPPED, Alternative


@dataclass(frozen=True)
class Branch:
    """A token that the search considered."""

    token: int
    parent: int
    """the number of the hypothesis that it would continue, at this step"""
    becomes: int | None
    """the number of the hypothesis that went on with it, at the next step; None if none did"""
    log_probability: float
    score: float
    """the sum of log-probabilities up to and including it"""
    finished: bool
    """it was `</s>`, and the hypothesis was put aside as complete"""
    chosen: bool
    """it is part of the output"""


Path = tuple[tuple[Branch, ...], ...]
"""for each step, what was considered, the best first"""


def beam_path(steps: Sequence[Sequence[Alternative]], output: Sequence[int]) -> Path:
    """The steps of a trace with the way of the output, whose ids are without `</s>`, marked."""
    wanted = [*output, EOS]
    ways = _ways(steps, wanted)
    return tuple(
        tuple(_branch(seen, (at, number) in ways) for number, seen in enumerate(step)) for at, step in enumerate(steps)
    )


def _ways(steps: Sequence[Sequence[Alternative]], wanted: Sequence[int]) -> set[tuple[int, int]]:
    """The step and place of each alternative on the way of the output.

    Several hypotheses can say the same for a while, as rows of a sample do; the way is one that reaches the end.
    """
    reached: dict[int, tuple[tuple[int, int], ...]] = {0: ()}
    if steps:
        reached = {seen.beam: () for seen in steps[0]}
    for at, (step, token) in enumerate(zip(steps, wanted, strict=False)):
        after: dict[int, tuple[tuple[int, int], ...]] = {}
        for number, seen in enumerate(step):
            if seen.token != token or seen.beam not in reached:
                continue
            way = (*reached[seen.beam], (at, number))
            if at == len(wanted) - 1 and seen.finished:
                return set(way)
            if seen.becomes != DROPPED:
                after[seen.becomes] = way
        reached = after
    return set(next(iter(reached.values()), ()))


def _branch(seen: Alternative, chosen: bool) -> Branch:
    becomes = None if seen.becomes == DROPPED else seen.becomes
    return Branch(seen.token, seen.beam, becomes, seen.token_score, seen.score, seen.finished, chosen)
