"""Beam search whose outputs contain given phrases (lexically constrained decoding).

Grid beam search (Hokamp and Liu 2017, arXiv:1704.07138) with a limited width, as in dynamic beam allocation (Post and
Vilar 2018, arXiv:1804.06609): hypotheses compete only with those that have as many tokens of the phrases, since a
phrase that the model would not have written costs probability, and would lose against everything without it.
Candidates are the likeliest tokens of each hypothesis, and the tokens that begin or continue a phrase. An output ends
only when it has all phrases, and when just as many tokens are left as the phrases need, only these are written.
"""

from typing import NamedTuple

import torch

from regard.data.subwords.tokenizer import EOS
from regard.decoding.constraint import Constraint, Coverage
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.one_way import LEAVE
from regard.decoding.rules import FREE
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategy import SearchTask, check_numbers
from regard.decoding.topk import starts

WIDEST = 4
"""times the beam size: the most hypotheses of a sentence"""


class _Candidate(NamedTuple):
    score: float
    value: float
    token: int
    parent: int
    coverage: Coverage


def constrained_search(beam: Beam, task: SearchTask, constraints: list[Constraint]) -> list[list[Hypothesis]]:
    """The outputs of each sentence, the best first, with its phrases; those that do not fit its length are left out."""
    search = _Grid(beam, task, constraints)
    while search.alive:
        search.step()
    return check_numbers([sorted(found, key=lambda one: -one.rank)[: beam.n_best] for found in search.finished])


class _Grid:
    """The search of a batch: for each sentence a list of hypotheses, and as many rows of the model's state."""

    def __init__(self, beam: Beam, task: SearchTask, constraints: list[Constraint]) -> None:
        self.beam, self.scorer, self.rules, self.states = beam, task.scorer, task.rules, task.states
        given = (self.rules.forced != FREE).sum(1)
        room = (self.rules.most - given).tolist()
        self.constraints = [one.fitting(own) for one, own in zip(constraints, room, strict=True)]
        self.alive = list(range(len(constraints)))
        """the numbers of the sentences that are searched"""
        self.finished: list[list[Hypothesis]] = [[] for _ in constraints]
        self.hypotheses = [[_Candidate(0.0, 0.0, task.scorer.first, 0, one.start)] for one in self.constraints]
        self.tokens = self.rules.most.new_empty(len(constraints), 1, 0)
        self.values = torch.empty(len(constraints), 1, 0, device=self.tokens.device)
        self.limits = self.rules.most.tolist()
        self.width = max(self._share(one.least) * one.least + beam.size for one in self.constraints)

    def _share(self, tokens: int) -> int:
        """How many hypotheses may have the same number of tokens of the phrases, which have so many."""
        return max(1, min(self.beam.size, (WIDEST - 1) * self.beam.size // max(1, tokens)))

    def step(self) -> None:
        """Extend every hypothesis by one token."""
        beams, length = self.tokens.shape[1:]
        last = [[one.token for one in own] + [EOS] * (beams - len(own)) for own in self.hypotheses]
        token = torch.tensor(last, device=self.tokens.device)
        logits, norm, self.states = self.scorer.step(token.flatten(), self.states)
        wanted = self._wanted(logits, norm, beams)
        values, tokens = self.rules.offer(logits, norm, self.tokens).top(min(self.beam.size, logits.shape[1]))
        likely = list(zip(values.tolist(), tokens.tolist(), strict=True))
        forced = (self.rules.forced[:, length] != FREE).tolist() if length < self.rules.forced.shape[1] else None
        chosen: list[list[_Candidate]] = []
        for at, sentence in enumerate(self.alive):
            rows = likely[at * beams : (at + 1) * beams]
            offered = [list(zip(*row, strict=True)) for row in rows]
            if length < self.limits[at] and not (forced and forced[at]):
                offered = [own + more for own, more in zip(offered, wanted[at], strict=True)]
            chosen.append(self._choose(at, sentence, offered))
        self._advance(chosen)

    def _wanted(self, logits: torch.Tensor, norm: torch.Tensor, beams: int) -> list[list[list[tuple[float, int]]]]:
        """For each hypothesis the tokens that begin or continue a phrase, with their log-probabilities."""
        places = [
            (at * beams + beam, token)
            for at, own in enumerate(self.hypotheses)
            for beam, one in enumerate(own)
            for token in sorted(one.coverage.following)
        ]
        found: list[list[list[tuple[float, int]]]] = [[[] for _ in range(beams)] for _ in self.hypotheses]
        if places:
            row, column = torch.tensor(places, device=logits.device).T
            for (place, token), value in zip(places, (logits[row, column] - norm[row]).tolist(), strict=True):
                found[place // beams][place % beams].append((value, token))
        return found

    def _choose(self, at: int, sentence: int, offered: list[list[tuple[float, int]]]) -> list[_Candidate]:
        """The hypotheses that a sentence goes on with; those that end are collected."""
        constraint, length = self.constraints[at], self.tokens.shape[2]
        room, total = self.limits[at] - length - 1, constraint.least
        banks: list[list[_Candidate]] = [[] for _ in range(total + 1)]
        for parent, (own, tokens) in enumerate(zip(self.hypotheses[at], offered, strict=False)):
            for token, value in {token: value for value, token in tokens if value > -torch.inf}.items():
                if token == EOS:
                    if constraint.may_end(own.coverage):
                        banks[-1].append(_Candidate(own.score + value, value, token, parent, own.coverage))
                    continue
                coverage = constraint.advance(own.coverage, token)
                if coverage.missing <= room or not total:
                    banks[total - coverage.missing].append(
                        _Candidate(own.score + value, value, token, parent, coverage)
                    )
        for bank in banks:
            bank.sort(key=lambda one: -one.score)
        self._finish(at, sentence, [one for one in banks[-1][: self.beam.size] if one.token == EOS])
        kept = [one for bank in banks[:-1] for one in bank[: self._share(total)]]
        kept += [one for one in banks[-1] if one.token != EOS][: self.beam.size]
        return [] if self._done(at, sentence, kept) else kept

    def _finish(self, at: int, sentence: int, ended: list[_Candidate]) -> None:
        length = self.tokens.shape[2]
        for one in ended:
            values = [*self.values[at, one.parent].tolist(), one.value]
            rank = one.score / float(length + 1) ** self.beam.length_penalty
            tokens = self.tokens[at, one.parent].tolist()
            self.finished[sentence].append(hypothesis(tokens, values, one.score, rank, self.limits[at]))

    def _done(self, at: int, sentence: int, kept: list[_Candidate]) -> bool:
        """Whether none that goes on is likely, or able, to be among the best.

        Phrases can be written at once, in a poor output that soon ends. So outputs that ended are enough only when
        those that go on are no better at their present length, or cannot be at any.
        """
        ranks = sorted((one.rank for one in self.finished[sentence]), reverse=True)
        if not kept or len(ranks) < self.beam.n_best:
            return not kept
        best, bar, penalty = max(one.score for one in kept), ranks[self.beam.n_best - 1], self.beam.length_penalty
        if best / (self.limits[at] + 1) ** penalty <= bar:
            return True
        return len(ranks) >= self.beam.enough and best / float(self.tokens.shape[2] + 1) ** penalty <= bar

    def _advance(self, chosen: list[list[_Candidate]]) -> None:
        """Go on with the chosen ones; finished sentences leave the batch once they are enough to be worth copying."""
        beams = self.tokens.shape[1]
        over = sum(not own for own in chosen)
        if over == len(chosen) or over * LEAVE >= len(chosen):
            stay = [at for at, own in enumerate(chosen) if own]
            self._keep(stay)
            chosen = [chosen[at] for at in stay]
        if not chosen:
            return
        filler = _Candidate(-torch.inf, 0.0, EOS, 0, Coverage())
        rows = [own + [filler] * (self.width - len(own)) for own in chosen]
        device = self.tokens.device
        parent = torch.tensor([[one.parent for one in own] for own in rows], device=device)
        if beams < self.width:
            self.states = self.states.spread(self.width)
        else:
            self.states = self.states.reorder((parent + starts(len(parent), beams, device)).flatten())
        index = parent[:, :, None].expand(-1, -1, self.tokens.shape[2])
        token = torch.tensor([[one.token for one in own] for own in rows], device=device)
        value = torch.tensor([[one.value for one in own] for own in rows], device=device)
        self.tokens = torch.cat([self.tokens.gather(1, index), token[:, :, None]], 2)
        self.values = torch.cat([self.values.gather(1, index), value[:, :, None]], 2)
        self.hypotheses = chosen

    def _keep(self, stay: list[int]) -> None:
        if len(stay) == len(self.alive):
            return
        self.alive = [self.alive[at] for at in stay]
        self.hypotheses = [self.hypotheses[at] for at in stay]
        self.constraints = [self.constraints[at] for at in stay]
        self.limits = [self.limits[at] for at in stay]
        index = torch.tensor(stay, dtype=torch.long, device=self.tokens.device)
        self.tokens, self.values = self.tokens[index], self.values[index]
        if stay:
            self.rules, self.states = self.rules.keep(index), self.states.keep(index)
