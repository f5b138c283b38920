import numpy as np

from regard.data.set_problem import digit_pictures
from regard.data.set_problems.digit_sum import DigitSum


def test_the_target_is_the_sum_of_the_digits_that_are_shown() -> None:
    pictures, digits = digit_pictures("dev")
    for one in DigitSum(3).draw(np.random.default_rng(1), 10, "dev"):
        found = [int(digits[np.flatnonzero((pictures == picture).all(1))[0]]) for picture in one.elements]
        assert one.target == (float(sum(found)),)
