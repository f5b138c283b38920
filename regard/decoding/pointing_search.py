"""Beam search for pointer networks: the likeliest valid answers, each a row of positions of the input.

Only what the rule allows is ever chosen, so that every answer is valid: no padding, no position twice where the rule
says so. With a beam of 1 the search is greedy.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from regard.base.errors import check_at_least
from regard.data.pointing import ENDING, PointingRule
from regard.models.pointer import PointerModel


@dataclass(frozen=True)
class PointedAnswer:
    """Positions of the input, the probability of each step's choice, and the log-probability of all."""

    positions: tuple[int, ...]
    score: float


@torch.no_grad()
def point(
    model: PointerModel,
    points: Float[Tensor, "batch points coordinates"],
    lengths: Int64[Tensor, "batch"],
    rule: PointingRule,
    beam: int = 1,
) -> list[list[PointedAnswer]]:
    """The `beam` best answers found for each input, the best first."""
    check_at_least("pointing", 1, beam=beam)
    state = model.start(points, lengths).spread(beam)
    batch, width = state.real.shape
    keep = state.real.repeat_interleave(beam, 0)
    visited = torch.zeros_like(keep)
    scores = points.new_full((batch, beam), -math.inf)
    scores[:, 0] = 0.0
    chosen, answers = lengths.new_zeros(batch * beam), lengths.new_zeros(batch * beam, 0)
    for taken in range(rule.longest(width - 1) + 1):
        logits, state = model.step(chosen, state)
        allowed = rule.allowed(visited, torch.full_like(chosen, taken), keep)
        steps = logits.float().masked_fill(~allowed, -math.inf).log_softmax(-1)
        totals = (scores[:, :, None] + steps.unflatten(0, (batch, beam))).flatten(1)
        scores, best = totals.topk(beam, dim=1)
        rows = (best // width + beam * torch.arange(batch, device=best.device)[:, None]).flatten()
        chosen = (best % width).flatten()
        state, visited = state.reorder(rows), visited[rows]
        visited[torch.arange(len(rows)), chosen] = True
        answers = torch.cat((answers[rows], chosen[:, None]), 1)
        if bool(visited[:, ENDING].all()):
            break
    return _listed(answers.unflatten(0, (batch, beam)), scores)


def _listed(answers: Tensor, scores: Tensor) -> list[list[PointedAnswer]]:
    """The answers of each input; beams that never found a valid way are left out."""
    return [
        [
            PointedAnswer(tuple(choice - 1 for choice in row if choice != ENDING), score)
            for row, score in zip(rows, values, strict=True)
            if score > -math.inf
        ]
        for rows, values in zip(answers.tolist(), scores.tolist(), strict=True)
    ]


@torch.no_grad()
def looks(
    model: PointerModel, points: Float[Tensor, "1 points coordinates"], positions: tuple[int, ...], rule: PointingRule
) -> Float[Tensor, "steps choices"]:
    """What each step of an answer looked at: the probability of the end, and of every position."""
    lengths = torch.tensor([points.shape[1]], device=points.device)
    choices = torch.tensor([[*(at + 1 for at in positions), ENDING]], device=points.device)
    keep = torch.ones(1, points.shape[1] + 1, dtype=torch.bool, device=points.device)
    logits = model(points, lengths, choices).masked_fill(~rule.allowed_along(choices, keep), -math.inf)
    return logits[0].softmax(-1)
