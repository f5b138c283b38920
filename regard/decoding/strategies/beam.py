"""Beam search: keep the `size` best hypotheses at each step."""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from regard.base.errors import ConfigError, check_at_least, check_at_most
from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.one_way import LEAVE
from regard.decoding.strategy import SearchTask, Strategy, check_numbers
from regard.decoding.topk import starts
from regard.decoding.trace import DROPPED, Trace

_WIDEST = 10_000


@dataclass(frozen=True, kw_only=True)
class Beam(Strategy):
    """Beam search with a length penalty: ranked by Σ log p(y_t) / n^length_penalty, where n counts tokens and `</s>`.

    Each step considers the 2·`size` likeliest continuations of a sentence's hypotheses. Among the first `size` of them,
    those that end are finished; of the others, the first `size` go on. An end further down the list is dropped, so
    that it cannot make short outputs win; with size 1 this is greedy search.

    A sentence is done when ⌈`patience` · `size`⌉ hypotheses are finished (Kasai et al. 2022, arXiv:2204.05424; 1 is the
    usual rule), or when none that goes on can still be among the `n_best`. A score only falls as tokens are added and
    the penalty is greatest at the longest length allowed, so a hypothesis with score s cannot rank above
    s / (longest + 1)^length_penalty. Without `patience`, this bound alone decides: slower, and exact.
    """

    size: int = 5
    """beam size: the number of hypotheses kept at each step; 1 is greedy search"""
    length_penalty: float = 1.0
    """the exponent of the length that a hypothesis' log-probability is divided by; 0: none, higher values favor longer
    outputs"""
    n_best: int = 1
    """the number of outputs for each text"""
    patience: float | None = 1.0
    """the search of a sentence ends after `patience` · `size` finished hypotheses; none: when no better one can
    follow"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("beam", 1, size=self.size, n_best=self.n_best)
        check_at_most("beam", _WIDEST, size=self.size)
        check_at_least("beam", 0, length_penalty=self.length_penalty)
        check_at_most("beam", 20, length_penalty=self.length_penalty)  # powers of lengths are to stay finite
        if self.n_best > self.size:
            raise ConfigError(f"beam: n_best ({self.n_best}) must be at most size ({self.size})")
        if self.patience is not None and self.patience <= 0:
            raise ConfigError(f"beam: patience must be more than 0, but is {self.patience}")

    @property
    def enough(self) -> float:
        """The number of finished hypotheses that ends the search of a sentence."""
        return float("inf") if self.patience is None else max(self.n_best, ceil(self.patience * self.size))

    def run(self, task: SearchTask) -> list[list[Hypothesis]]:
        found = task.compiled(self.size, self.n_best, self.length_penalty, self.enough)
        if found is not None:
            return check_numbers(found)
        search = _Search(self, task)
        while len(search.sentences):
            search.step()
        return check_numbers([sorted(found, key=lambda one: -one.rank)[: self.n_best] for found in search.finished])


class _Candidates(NamedTuple):
    """The best continuations of each sentence's hypotheses, the best first."""

    score: Float[Tensor, "sentences candidates"]
    value: Float[Tensor, "sentences candidates"]
    token: Int[Tensor, "sentences candidates"]
    parent: Int[Tensor, "sentences candidates"]
    ends: Bool[Tensor, "sentences candidates"]

    def finished(self, size: int) -> Bool[Tensor, "sentences candidates"]:
        """The finished ones among the first `size`."""
        finished = self.ends & (self.score > -torch.inf)
        finished[:, size:] = False
        return finished

    def going_on(self, width: int, some_end: bool) -> "tuple[_Candidates, Int[Tensor, 'sentences width']]":
        """The first `width` that do not end, and their indices; padded with placeholders of score -∞."""
        if not some_end and width <= self.score.shape[1]:
            pick = starts(width, 1, self.score.device)[:, 0].expand(len(self.score), -1)
            return _Candidates(*(column[:, :width] for column in self)), pick
        score, pick = self.score.masked_fill(self.ends, -torch.inf).topk(min(width, self.score.shape[1]))
        missing = width - score.shape[1]
        score, pick = pad(score, (0, missing), value=-torch.inf), pad(pick, (0, missing))
        return _Candidates(score, *(column.gather(1, pick) for column in self[1:])), pick

    def keep(self, sentences: Int[Tensor, "kept"]) -> "_Candidates":
        """The candidates of some of the sentences."""
        return _Candidates(*(column[sentences] for column in self))


class _Search:
    """The beam search of a batch. Placeholders of missing hypotheses have score -∞."""

    def __init__(self, beam: Beam, task: SearchTask) -> None:
        self.beam, self.task = beam, task
        self.rules = task.rules
        given, values, self.states = task.prefilled()
        count, device = len(self.rules.most), self.rules.most.device
        self.sentences = torch.arange(count, device=device)
        self.score = values.sum(1, keepdim=True)
        self.tokens, self.values = given[:, None], values[:, None]
        self.last = given[:, -1:] if given.shape[1] else torch.full((count, 1), task.scorer.first, device=device)
        self.finished: list[list[Hypothesis]] = [[] for _ in range(count)]
        self.bar = torch.full((count,), -torch.inf, device=device)
        """the rank that a sentence's hypotheses must exceed to go on; ∞ when enough are finished"""
        self.ceiling = (self.rules.most + 1) ** beam.length_penalty
        self.narrow = self.rules.shared

    def step(self) -> None:
        """Extend every hypothesis by one token."""
        logits, norm, self.states = self.task.scorer.step(self.last.flatten(), self.states)
        best = self.rules.offer(logits, norm, self.tokens).best(self.score, 2 * self.beam.size)
        candidates = _Candidates(*best, ends=best[2] == EOS)
        some_end = bool(candidates.ends.any())
        if some_end:
            self._finish(candidates)
        # As long as the next token is forced for all sentences, there is only one hypothesis.
        width = 1 if self.tokens.shape[2] < self.narrow else self.beam.size
        chosen, pick = candidates.going_on(width, some_end)
        if self.task.trace is not None:
            _note(self.task.trace, self.sentences, candidates, candidates.finished(self.beam.size), chosen.score, pick)
        self._advance(chosen, done=~(chosen.score[:, 0] / self.ceiling > self.bar))

    def _finish(self, candidates: _Candidates) -> None:
        """Collect the hypotheses that end here."""
        row, column = candidates.finished(self.beam.size).nonzero(as_tuple=True)
        parent = candidates.parent[row, column]
        penalty = float(self.tokens.shape[2] + 1) ** self.beam.length_penalty
        values = torch.cat([self.values[row, parent], candidates.value[row, column, None]], 1)
        score, sentences, most = candidates.score[row, column], self.sentences[row], self.rules.most[row]
        columns = (sentences, self.tokens[row, parent], values, score, score / penalty, most)
        for sentence, *parts in zip(*(tensor.tolist() for tensor in columns), strict=True):
            self.finished[sentence].append(hypothesis(*parts))
        for at, sentence in {*zip(row.tolist(), sentences.tolist(), strict=True)}:
            ranks = sorted((one.rank for one in self.finished[sentence]), reverse=True)
            if len(ranks) >= self.beam.enough:
                self.bar[at] = torch.inf
            elif len(ranks) >= self.beam.n_best:
                self.bar[at] = ranks[self.beam.n_best - 1]

    def _advance(self, chosen: _Candidates, done: Bool[Tensor, "sentences"]) -> None:
        """Go on with the chosen ones; finished sentences leave the batch once they are enough to be worth copying."""
        over = int(done.sum())
        if over == len(done) or over * LEAVE >= len(done):
            stay = (~done).nonzero()[:, 0]
            chosen = chosen.keep(stay)
            self._keep(stay)
        elif over:
            chosen.score[done] = -torch.inf
        if len(self.sentences):
            self._follow(chosen.parent, beams=self.tokens.shape[1])
        index = chosen.parent[:, :, None].expand(-1, -1, self.tokens.shape[2])
        self.score, self.last = chosen.score, chosen.token
        self.tokens = torch.cat([self.tokens.gather(1, index), chosen.token[:, :, None]], 2)
        self.values = torch.cat([self.values.gather(1, index), chosen.value[:, :, None]], 2)

    def _follow(self, parent: Int[Tensor, "sentences beams"], beams: int) -> None:
        """Reorder the states (KV caches): every hypothesis gets the state of the one that it continues."""
        if beams < parent.shape[1]:
            self.states = self.states.spread(parent.shape[1])
        else:
            self.states = self.states.reorder((parent + starts(len(parent), beams, parent.device)).flatten())

    def _keep(self, stay: Int[Tensor, "kept"]) -> None:
        for name in ("sentences", "tokens", "values", "bar", "ceiling"):
            setattr(self, name, getattr(self, name)[stay])
        if len(stay):
            self.rules, self.states = self.rules.keep(stay), self.states.keep(stay)


def _note(
    trace: Trace, sentences: Tensor, candidates: _Candidates, finished: Tensor, score: Tensor, pick: Tensor
) -> None:
    """Record the candidates in the trace, and which of them go on as which hypothesis."""
    goes_on = score > -torch.inf
    number = torch.arange(pick.shape[1], device=pick.device).expand_as(pick)
    becomes = torch.full_like(candidates.parent, DROPPED)
    row, column = goes_on.nonzero(as_tuple=True)
    becomes[row, pick[row, column]] = number[row, column]
    trace.add(
        sentences,
        candidates.parent,
        candidates.token,
        candidates.value,
        candidates.score,
        finished,
        becomes,
    )
