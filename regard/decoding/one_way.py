"""Decoding with one choice per step and no backtracking: what greedy search and sampling share."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis, hypothesis
from regard.decoding.rules import Offer
from regard.decoding.strategy import SearchTask, check_numbers
from regard.decoding.trace import DROPPED, Trace

Choose = Callable[[Offer, Int[Tensor, "sentences"], int], Int[Tensor, "rows"]]
"""a function from the allowed tokens, the indices of the sentences (with equally many rows each) and the step"""

LEAVE = 8
_SEEN = 5


def walk(task: SearchTask, choose: Choose, rows: int = 1) -> list[list[Hypothesis]]:
    """Decode `rows` outputs for each sentence."""
    rules = task.rules
    given, values, states = task.prefilled()
    step = given.shape[1]
    sentences = torch.arange(len(rules.most), device=rules.most.device)
    tokens, scores = given[:, None].repeat(1, rows, 1), values[:, None].repeat(1, rows, 1)
    lengths = torch.full_like(tokens[:, :, :0].sum(-1), -1)
    last = given[:, -1] if step else torch.full_like(sentences, task.scorer.first)
    token = last.repeat_interleave(rows)
    found: dict[int, list[Hypothesis]] = {}
    if rows > 1:
        states = states.spread(rows)
    while len(sentences):
        logits, norm, states = task.scorer.step(token, states)
        offer = rules.offer(logits, norm, tokens)
        token, value = offer.settle(choose(offer, sentences, step))
        if task.stops is not None:
            token = token.masked_fill(torch.isin(token, task.stops), EOS)
        if task.listen is not None:
            task.listen(sentences, token)
        if task.trace is not None:
            _note(task.trace, offer, sentences, token, scores.sum(-1), lengths)
        tokens = torch.cat([tokens, token.view(-1, rows, 1)], -1)
        scores = torch.cat([scores, value.view(-1, rows, 1)], -1)
        lengths = torch.where((tokens[:, :, -1] == EOS) & (lengths < 0), step, lengths)
        step += 1
        over = (lengths >= 0).all(-1)
        ended = int(over.sum())
        if ended and (ended == len(over) or ended * LEAVE >= len(over)):
            found |= _collect(over, sentences, tokens, scores, lengths, rules.most)
            stay = (~over).nonzero()[:, 0]
            sentences, tokens, scores, lengths = (x[stay] for x in (sentences, tokens, scores, lengths))
            token = tokens[:, :, -1].flatten()
            if len(stay):
                states, rules = states.keep(stay), rules.keep(stay)
    return check_numbers([found[at] for at in range(len(found))])


def _collect(
    over: Tensor, sentences: Tensor, tokens: Tensor, scores: Tensor, lengths: Tensor, most: Tensor
) -> dict[int, list[Hypothesis]]:
    found: dict[int, list[Hypothesis]] = {}
    columns = (x[over].tolist() for x in (sentences, tokens, scores, lengths, most))
    for at, tokens_, scores_, lengths_, limit in zip(*columns, strict=True):
        ended = []
        for row, values, length in zip(tokens_, scores_, lengths_, strict=True):
            total = sum(values[: length + 1])
            ended.append(hypothesis(row[:length], values[: length + 1], total, total, limit))
        found[at] = sorted(ended, key=lambda one: -one.rank)
    return found


def _note(
    trace: Trace,
    offer: Offer,
    sentences: Int[Tensor, "sentences"],
    token: Int[Tensor, "rows"],
    before: Float[Tensor, "sentences beams"],
    lengths: Int[Tensor, "sentences beams"],
) -> None:
    """Record the likeliest tokens in the trace; the chosen one is among them, or replaces the last."""
    count, beams = before.shape
    values, tokens = offer.top(_SEEN)
    taken = tokens == token[:, None]
    tokens[:, -1] = torch.where(taken.any(1), tokens[:, -1], token)
    values[:, -1] = torch.where(taken.any(1), values[:, -1], offer.settle(token)[1])
    taken = tokens == token[:, None]
    values = values.masked_fill((lengths >= 0).view(-1, 1), -torch.inf)
    beam = torch.arange(beams, device=tokens.device).repeat(count)[:, None].expand_as(tokens)
    ended = taken & (tokens == EOS)
    becomes = torch.where(taken & ~ended, beam, DROPPED)
    columns = (beam, tokens, values, before.view(-1, 1) + values, ended, becomes)
    trace.add(sentences, *(column.reshape(count, -1) for column in columns))
