"""How a pointer-generator came to each target token: written from the vocabulary, or copied from the source.

    P(y) = g · P_vocabulary(y) + (1 - g) · Σ_{j: x_j = y} a_j

The share of the second term in P(y) is the probability that the token y was copied, given that it was produced. Each
source position has its part in it, (1 - g) · a_j / P(y) where x_j = y.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.layers.pointer_generator import PointerGenerator

_LEAST = 0.005
"""smaller shares of source tokens are not listed"""


@dataclass(frozen=True)
class Copied:
    """Whether a target token was written or copied, and from where."""

    gate: float
    """g: how likely the model writes a word of the vocabulary here, whichever it is"""
    share: float
    """the probability that this token was copied"""
    sources: tuple[tuple[int, float], ...]
    """the source tokens that it was copied from, by their numbers from 0, each with its share; the largest first"""


def copied_tokens(
    output: PointerGenerator, rows: Float[Tensor, "target mixed"], target: Int[Tensor, "target"]
) -> list[Copied]:
    """How each target token came about, from the rows that `PointerGenerator.gathered` made."""
    mixed = output.mixture(rows)
    gate = mixed.gate[:, 0].double().sigmoid()
    chances = output(rows).double().gather(1, target[:, None]).exp()
    matching = mixed.weights.double() * (mixed.tokens == target[:, None])
    shares = (1 - gate)[:, None] * matching / chances.clamp(min=torch.finfo(torch.float64).tiny)
    return [_copied(float(own), row) for own, row in zip(gate, shares.cpu(), strict=True)]


def mean_of(models: Sequence[Sequence[Copied]]) -> tuple[Copied, ...]:
    """The means over the models of an ensemble; nothing if none copies."""
    return tuple(map(_mean, zip(*models, strict=True)))


def _copied(gate: float, shares: Tensor) -> Copied:
    order = shares.argsort(descending=True, stable=True).tolist()
    sources = tuple((at, float(shares[at])) for at in order if shares[at] >= _LEAST)
    return Copied(gate, min(1.0, float(shares.sum())), sources)


def _mean(each: Sequence[Copied]) -> Copied:
    if len(each) == 1:
        return each[0]
    totals: dict[int, float] = {}
    for one in each:
        for at, share in one.sources:
            totals[at] = totals.get(at, 0.0) + share / len(each)
    sources = tuple(sorted(totals.items(), key=lambda item: -item[1]))
    gate, share = (sum(getattr(one, name) for one in each) / len(each) for name in ("gate", "share"))
    return Copied(gate, share, sources)
