"""The geometry of features: how evenly they fill their space.

mean cosine: E cos(x, y) over pairs: 0 for directions that spread evenly, 1 where all point the same way; Ethayarajh,
2019, https://arxiv.org/abs/1909.00512

isotropy: min_c Z(c) / max_c Z(c), Z(c) = Σ_x exp(c · x), c the eigenvectors of XᵀX: 1 if even in all directions; Mu
and Viswanath, 2018, https://arxiv.org/abs/1702.01417

effective rank: exp(-Σ p_i log p_i), p_i = σ_i / Σ σ, σ the singular values about the mean; Roy and Vetterli, 2007

alignment: E |x - y|² over pairs of a class; uniformity log E exp(-2 |x - y|²) over all pairs, both of vectors of
length 1; less is better; Wang and Isola, 2020, https://arxiv.org/abs/2005.10242
"""

import numpy as np
from numpy.typing import NDArray

from regard.metrics.feature_checks import Classes, Features, directions

_MOST = 2_000
"""examples among which all pairs are compared"""


def mean_cosine(features: Features) -> float:
    """The mean cosine of two different examples: (|Σ u|² - n) / (n (n - 1)) of vectors u of length 1."""
    unit = directions(features)
    count = len(unit)
    return float((np.square(unit.sum(0)).sum() - np.square(unit).sum()) / (count * (count - 1)))


def isotropy(features: Features) -> float:
    """The ratio of the smallest to the largest partition function over the main directions, of vectors scaled to a
    mean length of 1.
    """
    scaled = features / max(np.linalg.norm(features, axis=1).mean(), 1e-12)
    _, main = np.linalg.eigh(scaled.T @ scaled)
    products = np.concatenate([scaled @ main, -scaled @ main], axis=1)
    top = products.max(0)
    logs = top + np.log(np.exp(products - top).sum(0))
    return float(np.exp(logs.min() - logs.max()))


def effective_rank(features: Features) -> float:
    """How many directions the features really use, between 1 and their width."""
    values = np.linalg.svd(features - features.mean(0), compute_uv=False)
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum())) if len(shares) else 1.0


def alignment(features: Features, labels: Classes) -> float:
    """The mean squared distance of two examples of a class."""
    unit, kept = _sample(directions(features), labels)
    distances, same = _squares(unit), kept[:, None] == kept
    same &= np.triu(np.ones_like(same), 1)
    return float(distances[same].mean()) if same.any() else 0.0


def uniformity(features: Features) -> float:
    """The log of the mean potential of all pairs: the lower, the more evenly vectors lie on the sphere."""
    unit, _ = _sample(directions(features), np.zeros(len(features), dtype=np.int64))
    pairs = _squares(unit)[np.triu_indices(len(unit), 1)]
    return float(np.log(np.exp(-2 * pairs).mean()))


def _squares(unit: NDArray[np.float64]) -> NDArray[np.float64]:
    made: NDArray[np.float64] = np.maximum(2 - 2 * unit @ unit.T, 0)
    return made


def _sample(unit: NDArray[np.float64], labels: Classes) -> tuple[NDArray[np.float64], Classes]:
    """At most so many examples that all pairs can be compared, always the same ones."""
    if len(unit) <= _MOST:
        return unit, labels
    rows = np.random.default_rng(1).permutation(len(unit))[:_MOST]
    return unit[rows], labels[rows]
