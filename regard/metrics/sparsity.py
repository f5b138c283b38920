"""Sparsity: how few of a vector's numbers carry it.

    Hoyer(x)    (√n - |x|₁ / |x|₂) / (√n - 1): 0 where all numbers are equal, 1 where one alone is not 0
    zeros(x)    the share of numbers that are exactly 0
    L0(x, θ)    how many numbers are larger than θ times the root mean square of the vector

Hoyer, Non-negative Matrix Factorization with Sparseness Constraints, 2004, https://jmlr.org/papers/v5/hoyer04a.html;
compared with other measures by Hurley and Rickard, 2009, https://arxiv.org/abs/0811.4706.
"""

import numpy as np

from regard.metrics.feature_checks import Features


def hoyer(features: Features) -> float:
    """The mean over vectors; vectors of zeros are left out."""
    width = features.shape[1]
    length = np.linalg.norm(features, axis=1)
    rows, length = np.abs(features[length > 0]).sum(1), length[length > 0]
    if width < 2 or not len(rows):
        return 0.0
    return float(np.mean((width**0.5 - rows / length) / (width**0.5 - 1)))


def zero_share(features: Features) -> float:
    """The share of all numbers that are exactly 0."""
    return float((features == 0).mean())


def active(features: Features, threshold: float = 0.1) -> float:
    """L0 at a threshold: the mean count of numbers beyond `threshold` times their vector's root mean square."""
    size = np.sqrt((features**2).mean(1, keepdims=True))
    return float((np.abs(features) > threshold * size).sum(1).mean())
