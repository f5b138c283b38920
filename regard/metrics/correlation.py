"""Rank correlation.

    spearman(x, y) = the correlation of the ranks of x and of y, equal values sharing the mean of their ranks

Spearman, 1904. Sentence vectors are judged by it: the cosine of two vectors beside how alike people find the texts.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """The rank correlation of two lists of numbers; 0 where one of them never varies."""
    if len(first) != len(second):
        raise RegardError(f"spearman: needs as many numbers on both sides, but has {len(first)} and {len(second)}")
    x, y = _ranks(first), _ranks(second)
    x, y = x - x.mean(), y - y.mean()
    both = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / both if both > 0 else 0.0


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, place, count = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    means: NDArray[np.float64] = last - (count - 1) / 2
    return means[place]
