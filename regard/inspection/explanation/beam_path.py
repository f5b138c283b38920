"""The path of a beam search: the candidates of each step, the hypotheses that went on, and the output."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.data.subwords.tokenizer import EOS
from regard.decoding.trace import DROPPED, Alternative


@dataclass(frozen=True)
class Branch:
    """A candidate token of the search."""

    token: int
    parent: int
    """the hypothesis that it would extend, by number at this step"""
    becomes: int | None
    """the hypothesis that it became, by number at the next step; None if it was pruned"""
    log_probability: float
    score: float
    """the sum of log-probabilities up to and including it"""
    finished: bool
    """it was `</s>`, and the hypothesis is complete"""
    chosen: bool
    """it is part of the output"""


Path = tuple[tuple[Branch, ...], ...]
"""the candidates of each step, the best first"""


def beam_path(steps: Sequence[Sequence[Alternative]], output: Sequence[int]) -> Path:
    """The steps of a trace with the path to the output marked; `output` has the ids without `</s>`."""
    wanted = [*output, EOS]
    ways = _ways(steps, wanted)
    return tuple(
        tuple(_branch(seen, (at, number) in ways) for number, seen in enumerate(step)) for at, step in enumerate(steps)
    )


def _ways(steps: Sequence[Sequence[Alternative]], wanted: Sequence[int]) -> set[tuple[int, int]]:
    """The step and rank of each candidate on the path to the output.

    Several hypotheses can share a prefix, as samples do; the path is one that reaches the end.
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
