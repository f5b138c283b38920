import numpy as np

from regard.data.set_problems.maximum import Maximum


def test_the_target_is_the_largest() -> None:
    for one in Maximum(4, 0).draw(np.random.default_rng(1), 20):
        assert one.target == (max(one.elements[:, 0].tolist(), default=0.0),)
