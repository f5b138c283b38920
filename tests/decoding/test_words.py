"""A part of the vocabulary with numbers of its own."""

import pytest
import torch
from torch import nn

from regard.decoding.hypothesis import Hypothesis
from regard.decoding.words import ListedOutput, Words

WORDS = Words.of([0, 1, 2, 3, 8], [[11, 40], [7], []], torch.device("cpu"))


def test_tokens_get_numbers_and_those_not_listed_are_left_out() -> None:
    assert WORDS.inside(0, [3, 40, 8]) == (3, 6, 4)
    assert WORDS.inside(1, [7, 11, 41, 5]) == (5,)
    assert WORDS.inside(2, []) == ()


def test_hypotheses_come_out_in_tokens_of_the_vocabulary() -> None:
    one = Hypothesis((4, 5, 4), -1.0, (-0.5, -0.25, -0.25, 0.0), -0.25)
    [[first], [second], none] = WORDS.outside([[one], [one], []])
    assert (first.tokens, second.tokens, none) == ((8, 11, 8), (8, 7, 8), [])
    assert (first.score, first.token_scores, first.rank) == (one.score, one.token_scores, one.rank)


def test_every_hypothesis_has_the_words_of_its_sentence() -> None:
    assert WORDS.vocabulary(torch.tensor([5, 6, 5, 4, 0, 3])).tolist() == [11, 40, 7, 8, 0, 3]
    assert WORDS.pick(torch.tensor([1])).vocabulary(torch.tensor([5])).tolist() == [7]


@pytest.mark.parametrize("bias", [True, False])
def test_listed_logits_are_those_of_the_whole_output(bias: bool) -> None:
    output, x = nn.Linear(6, 50, bias=bias), torch.randn(6, 6)
    with torch.inference_mode():
        listed, expected = ListedOutput.of(output, WORDS), WORDS.select(output(x))
        torch.testing.assert_close(listed(x), expected)
        assert listed(x)[0, :7].tolist() == pytest.approx(output(x)[0, [0, 1, 2, 3, 8, 11, 40]].tolist())
        assert (64 - expected.isinf().sum(1)).tolist() == [7, 7, 6, 6, 5, 5]
        few = torch.tensor([2, 0])
        torch.testing.assert_close(listed.pick(few)(x[:4]), WORDS.pick(few).select(output(x[:4])))
