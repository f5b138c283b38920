import numpy as np

from regard.data.set_problem import digit_pictures
from regard.data.set_problems.unique import Unique


def test_the_target_is_the_number_of_different_digits() -> None:
    pictures, digits = digit_pictures("train")
    drawn = Unique().draw(np.random.default_rng(1), 40)
    for one in drawn:
        found = {int(digits[np.flatnonzero((pictures == picture).all(1))[0]]) for picture in one.elements}
        assert one.target == (float(len(found)),)
    assert {one.target[0] for one in drawn} >= {1.0, 4.0, 6.0}
