"""Points of a mixture of Gaussians, whose parameters are to be told at once: clustering, amortized.

Lee et al., 2019, https://arxiv.org/abs/1810.00825, section 5.3: four clusters in the plane, centers uniform from -4 to
4, weights from a flat Dirichlet distribution, deviation 0.3.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regard.base.errors import check_at_least
from regard.data.set_examples import SetExample
from regard.data.set_problem import DrawnPart, SetGoal, SetProblem


@dataclass(frozen=True)
class Clusters(SetProblem):
    """Points in the plane of a mixture of `clusters` Gaussians; the target is their density under the true mixture."""

    size: int = 200
    smallest: int = 100
    clusters: int = 4
    """the number of Gaussians"""
    deviation: float = 0.3
    """the standard deviation of each"""
    goal: ClassVar[SetGoal] = "clusters"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("clusters", 1, clusters=self.clusters)
        check_at_least("clusters", 1e-6, deviation=self.deviation)

    def draw(self, draw: np.random.Generator, count: int, part: DrawnPart = "train") -> list[SetExample]:
        found = []
        for size in self.sizes(draw, count):
            weights = draw.dirichlet(np.ones(self.clusters))
            centers = draw.uniform(-4, 4, (self.clusters, 2))
            chosen = draw.choice(self.clusters, size, p=weights)
            points = centers[chosen] + self.deviation * draw.normal(size=(size, 2))
            found.append(SetExample(points, (self._density(points, weights, centers),)))
        return found

    def _density(self, points: np.ndarray, weights: np.ndarray, centers: np.ndarray) -> float:
        """The mean log-density of the points under the mixture that they are from."""
        squares = ((points[:, None] - centers) ** 2).sum(2) / self.deviation**2
        each = np.log(weights + 1e-300) - squares / 2 - np.log(2 * np.pi * self.deviation**2)
        highest = each.max(1, keepdims=True, initial=-1e300)
        return float((highest[:, 0] + np.log(np.exp(each - highest).sum(1))).mean()) if len(points) else 0.0
