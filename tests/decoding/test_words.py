"""A part of the vocabulary with numbers of its own."""

import torch

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.words import Words

WORDS = Words(torch.tensor([0, 1, 2, 3, 8, 11, 40]), None)


def test_tokens_get_numbers_and_those_not_listed_are_left_out() -> None:
    assert WORDS.inside([3, 40, 8]) == (3, 6, 4)
    assert WORDS.inside([7, 11, 41, 5]) == (5,)
    assert WORDS.inside([]) == ()


def test_hypotheses_come_out_in_tokens_of_the_vocabulary() -> None:
    one = Hypothesis((4, 6, 4), -1.0, (-0.5, -0.25, -0.25, 0.0), -0.25)
    [[found]] = WORDS.outside([[one]])
    assert found.tokens == (8, 40, 8)
    assert (found.score, found.token_scores, found.rank) == (one.score, one.token_scores, one.rank)
