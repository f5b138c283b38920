"""Links from co-occurrence in parallel text: words that occur together, at similar relative positions.

`data/lexicon.py` estimates translation probabilities in both directions, with a prior for the diagonal and smoothing
for rare words. It takes seconds for thousands of pairs and tells heads that align from those that do not.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.lexicon import Model1
from regard.data.links import Gold, LinkPoint

_SETTINGS: dict[str, Any] = {"rounds": 3, "diagonal": 4.0, "nothing": 0.02, "doubt": 3.0}


def lexical_links(sentences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Gold]:
    """Links of each pair of word lists: sure if both directions have them, possible if one does."""
    filled = [pair for pair in sentences if pair[0] and pair[1]]
    source, target = (_numbered([pair[side] for pair in filled]) for side in (0, 1))
    ahead, back = _best(source, target, "F"), _best(target, source, "C")
    found = iter([Gold(_points(one.T & other), _points(one.T | other)) for one, other in zip(ahead, back, strict=True)])
    return [next(found) if pair[0] and pair[1] else Gold(frozenset(), frozenset()) for pair in sentences]


def _numbered(sentences: Sequence[Sequence[str]]) -> list[list[int]]:
    """Words as ids, ignoring case."""
    numbers: dict[str, int] = {}
    return [[numbers.setdefault(word.lower(), len(numbers)) for word in sentence] for sentence in sentences]


def _best(source: list[list[int]], target: list[list[int]], order: Literal["C", "F"]) -> list[NDArray[np.bool_]]:
    if not target:
        return []
    pairs, size = list(zip(source, target, strict=True)), 1 + max(map(max, target))
    return list(Model1(pairs=pairs, target_size=size, order=order, **_SETTINGS).best())


def _points(grid: NDArray[np.bool_]) -> frozenset[LinkPoint]:
    sources, targets = np.nonzero(grid)
    return frozenset(zip(sources.tolist(), targets.tolist(), strict=True))
