import math

import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.set_problems.clusters import Clusters


def test_the_target_is_the_density_under_the_truth() -> None:
    """Far apart, the density of a point is that of its own Gaussian times its weight; on average its entropy."""
    (one,) = Clusters(5_000, 5_000, clusters=1).draw(np.random.default_rng(1), 1)
    assert one.target[0] == pytest.approx(-1 - math.log(2 * math.pi * 0.3**2), abs=0.05)
    assert one.elements.std(0) == pytest.approx([0.3, 0.3], abs=0.02)


def test_no_clusters_are_refused() -> None:
    with pytest.raises(ConfigError, match="clusters: clusters must be at least 1, but is 0"):
        Clusters(clusters=0)
