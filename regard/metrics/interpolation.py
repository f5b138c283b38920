"""Interpolation: what lies between two examples.

    v(t) = (1 - t) a + t b,    straightness = |b - a| / Σ_i |n_{i+1} - n_i|

n_i is the example nearest to v(t_i): the path goes from one to the next. A straightness of 1 says that the examples on
the way lie on the line; in a space that is curved or full of holes it is smaller. `gap` compares how far the line is
from examples with how far examples are from each other. Bengio et al., Better Mixing via Deep Representations, 2012,
https://arxiv.org/abs/1207.4404, look at such paths.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError, check_at_least
from regard.metrics.feature_checks import Features


@dataclass(frozen=True)
class FeaturePath:
    """The examples on the way from one to another."""

    places: tuple[int, ...]
    """the ends, and between them the nearest other example at each step"""
    straightness: float
    gap: float
    """the mean distance from the line to the nearest example, relative to that from an example to its nearest other"""


def path_between(features: Features, start: int, end: int, steps: int = 9) -> FeaturePath:
    """The way from one example to another in equal steps, both ends included."""
    check_at_least("path", 2, steps=steps)
    count = len(features)
    if start == end or not (0 <= start < count and 0 <= end < count):
        raise RegardError(f"path: needs two different examples from 1 to {count}, but has {start + 1} and {end + 1}")
    rows = np.asarray(features, np.float64)
    times = np.linspace(0, 1, steps)[:, None]
    line = (1 - times) * rows[start] + times * rows[end]
    distances = _distances(line, rows)
    nearest = distances.argmin(1)
    nearest[0], nearest[-1] = start, end
    walked = np.linalg.norm(np.diff(rows[nearest], axis=0), axis=1).sum()
    if count > 2:
        distances[1:-1, [start, end]] = np.inf
    places = distances.argmin(1)
    places[0], places[-1] = start, end
    direct = np.linalg.norm(rows[end] - rows[start])
    inner = distances[1:-1].min(1).mean() if steps > 2 else 0.0
    return FeaturePath(tuple(places.tolist()), float(direct / walked) if walked else 1.0, float(inner / _usual(rows)))


def mean_straightness(features: Features, pairs: int = 100, seed: int = 1) -> float:
    """The mean straightness between examples that are drawn at random."""
    random = np.random.default_rng(seed)
    drawn = (random.choice(len(features), 2, replace=False) for _ in range(pairs))
    return float(np.mean([path_between(features, int(start), int(end)).straightness for start, end in drawn]))


def _usual(rows: NDArray[np.float64]) -> float:
    """The mean distance of some examples to their nearest other."""
    some = rows[:: max(1, len(rows) // 200)]
    distances = _distances(some, rows)
    near = np.partition(distances, 1, axis=1)[:, 1]
    return float(max(near.mean(), 1e-12))


def _distances(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    squares = (first**2).sum(1)[:, None] + (second**2).sum(1) - 2 * first @ second.T
    made: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0))
    return made
