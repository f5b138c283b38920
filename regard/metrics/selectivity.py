"""What single units respond to: how much of a unit's variance the classes explain, and the examples at its top.

    η²(u) = Σ_c n_c (m_c - m)² / Σ_i (x_i - m)²,  m_c the mean of unit u in class c, m over all; 1: the class decides it

The correlation ratio: Pearson, 1905; units of networks by their classes: Morcos et al., 2018,
https://arxiv.org/abs/1803.06959; by the inputs that excite them most: Zeiler and Fergus, 2013,
https://arxiv.org/abs/1311.2901
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.metrics.feature_checks import Classes, Features


@dataclass(frozen=True)
class UnitResponse:
    """A unit, counted from 0: how selective it is, the class with its highest mean, its strongest examples."""

    unit: int
    selectivity: float
    favorite: int
    strongest: tuple[int, ...]


def selectivity(features: Features, labels: Classes) -> NDArray[np.float64]:
    """η² of each unit; 0 where a unit never varies."""
    rows = np.asarray(features, np.float64)
    away = rows - rows.mean(0)
    between = np.zeros(rows.shape[1])
    for label in np.unique(labels):
        own = away[labels == label]
        between += len(own) * own.mean(0) ** 2
    whole = (away**2).sum(0)
    return np.divide(between, whole, out=np.zeros_like(between), where=whole > 0)


def telling_units(features: Features, labels: Classes, count: int = 8, examples: int = 4) -> list[UnitResponse]:
    """The most selective units, the most selective first."""
    shares = selectivity(features, labels)
    classes = np.unique(labels)
    means = np.stack([features[labels == label].mean(0) for label in classes])
    return [
        UnitResponse(
            int(unit),
            float(shares[unit]),
            int(classes[means[:, unit].argmax()]),
            tuple(np.argsort(-features[:, unit], kind="stable")[:examples].tolist()),
        )
        for unit in np.argsort(-shares, kind="stable")[:count]
    ]
