"""Links that parallel text supports by itself: words that occur together, near the same place.

    p(s | t_j) ∝ θ(t_j | s) · exp(-λ |i/S - j/T|)          which of the source words s at i made target word t at j
    θ(t | s) = Σ p(s | t) / (α + Σ_t' Σ p(s | t'))         a word that is rare is not believed so readily

a few times over, in both directions. Brown et al., 1993 (J93-2003), model 1, with the diagonal of Dyer et al., 2013
(N13-1073). Seconds for thousands of pairs; good enough to tell heads that align from those that do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.links import Gold, LinkPoint

_ROUNDS = 5
_DIAGONAL = 4.0
_DOUBT = 3.0
_NOTHING = 0.02
"""the share of a target word that no source word made, before anything is known"""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Cells:
    """Every source word of a sentence with every target word of its translation, all sentences one after another."""

    source_at: Ints
    """the number of the source word among those of all sentences"""
    target_at: Ints
    kind: Ints
    """the number of its pair of spellings"""
    source_kind: Ints
    """by pair of spellings: the number of the source's"""
    target_kind: Ints
    near: Floats
    """how probable its place makes it"""


def lexical_links(sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Gold]:
    """Links of each pair of word lists: sure where both directions agree, possible where one of them sees it."""
    filled = [pair for pair in sentences if pair[0] and pair[1]]
    if not filled:
        return [Gold(frozenset(), frozenset())] * len(sentences)
    cells = _cells(filled)
    forward = _posteriors(cells.kind, cells.source_kind, cells.target_at, cells.near)
    backward = _posteriors(cells.kind, cells.target_kind, cells.source_at, cells.near)
    ahead, back = _best(forward, cells.target_at), _best(backward, cells.source_at)
    sure, possible = ahead & back, ahead | back
    found = iter(_by_sentence(filled, sure, possible))
    return [next(found) if pair[0] and pair[1] else Gold(frozenset(), frozenset()) for pair in sentences]


def _cells(sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> _Cells:
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    spelled: list[list[Ints]] = [[], []]
    places: list[list[Ints]] = [[], []]
    near, starts = [], [0, 0]
    for pair in sentences:
        known = [_spellings(side, own) for side, own in zip(pair, numbers, strict=True)]
        rows, columns = (np.arange(len(side)) for side in pair)
        grid = np.meshgrid(rows, columns, indexing="ij")
        for side in (0, 1):
            spelled[side].append(known[side][grid[side]].ravel())
            places[side].append(grid[side].ravel() + starts[side])
            starts[side] += len(pair[side])
        near.append(np.abs((grid[0] + 0.5) / len(rows) - (grid[1] + 0.5) / len(columns)).ravel())
    source, target = (np.concatenate(side) for side in spelled)
    kinds, kind = np.unique(source * len(numbers[1]) + target, return_inverse=True)
    return _Cells(
        source_at=np.concatenate(places[0]),
        target_at=np.concatenate(places[1]),
        kind=kind,
        source_kind=kinds // len(numbers[1]),
        target_kind=kinds % len(numbers[1]),
        near=np.exp(-_DIAGONAL * np.concatenate(near)),
    )


def _spellings(side: Sequence[str], numbers: dict[str, int]) -> Ints:
    return np.array([numbers.setdefault(word.lower(), len(numbers)) for word in side])


def _posteriors(kind: Ints, given: Ints, made_at: Ints, near: Floats) -> Floats:
    """How probable it is that each cell's given word made its other word."""
    share = np.ones(len(given))
    found = near
    for _ in range(_ROUNDS):
        joint = share[kind] * near
        found = joint / (np.bincount(made_at, joint) * (1 + _NOTHING))[made_at]
        counts = np.bincount(kind, found)
        share = counts / (np.bincount(given, counts) + _DOUBT)[given]
    return found


def _best(found: Floats, made_at: Ints) -> NDArray[np.bool_]:
    """Where a cell is as probable as any of its word's."""
    most = np.zeros(int(made_at.max()) + 1)
    np.maximum.at(most, made_at, found)
    best: NDArray[np.bool_] = found >= most[made_at]
    return best


def _by_sentence(
    sentences: Sequence[tuple[Sequence[str], Sequence[str]]], sure: NDArray[np.bool_], possible: NDArray[np.bool_]
) -> list[Gold]:
    found, start = [], 0
    for source, target in sentences:
        end = start + len(source) * len(target)
        own = (chosen[start:end].reshape(len(source), len(target)) for chosen in (sure, possible))
        found.append(Gold(*map(_points, own)))
        start = end
    return found


def _points(grid: NDArray[np.bool_]) -> frozenset[LinkPoint]:
    sources, targets = np.nonzero(grid)
    return frozenset(zip(sources.tolist(), targets.tolist(), strict=True))
