import pytest
import torch

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.rules import FREE, forced_tokens
from tests.decoding.fakes import rules

CPU = torch.device("cpu")


def history(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.long).view(len(rows), 1, -1)


def allowed(offer: object, row: int) -> list[int]:
    return (offer.logits[row] > -torch.inf).nonzero()[:, 0].tolist()


def test_suppressed_tokens_are_not_offered() -> None:
    offer = rules(suppress=torch.tensor([0, 2])).offer(torch.zeros(2, 5), torch.zeros(2), history([], []))
    assert allowed(offer, 0) == allowed(offer, 1) == [1, 3, 4]
    assert offer.must is None


def test_no_end_before_the_least_length() -> None:
    least = rules(least=torch.tensor([2, 1]))
    offer = least.offer(torch.zeros(2, 5), torch.zeros(2), history([4], [4]))
    assert EOS not in allowed(offer, 0)
    assert EOS in allowed(offer, 1)


def test_the_most_length_forces_the_end() -> None:
    offer = rules(most=torch.tensor([1, 2])).offer(torch.randn(2, 5), torch.zeros(2), history([4], [4]))
    assert offer.must.tolist() == [EOS, FREE]
    values, tokens = offer.top(3)
    assert tokens[0, 0] == EOS
    assert (values[0, 1:] == -torch.inf).all()
    assert (values[1] > -torch.inf).all()


def test_a_prefix_is_forced_with_its_own_score_even_if_suppressed() -> None:
    logits = torch.randn(2, 6)
    norm = logits.logsumexp(-1)
    expected = (logits - norm[:, None])[0, 4]
    forcing = rules(forced=forced_tokens([(5, 4), (5,)], CPU), suppress=torch.tensor([4]))
    offer = forcing.offer(logits.clone(), norm, history([5], [5]))
    token, value = offer.settle(torch.tensor([1, 1]))
    assert token.tolist() == [4, 1]
    assert value[0] == expected
    assert forcing.shared == 1
    assert forcing.keep(torch.tensor([0])).shared == 2


def test_no_ngram_comes_twice() -> None:
    seen = history([4, 5, 6, 4, 5], [4, 5, 6, 5, 4])
    for size, first, second in ((1, {4, 5, 6}, {4, 5, 6}), (2, {6}, {5}), (3, {6}, set()), (6, set(), set())):
        offer = rules(no_repeat_ngram=size).offer(torch.zeros(2, 8), torch.zeros(2), seen)
        assert set(range(8)) - set(allowed(offer, 0)) == first
        assert set(range(8)) - set(allowed(offer, 1)) == second


def test_where_nothing_is_allowed_the_output_ends() -> None:
    stuck = rules(no_repeat_ngram=1, suppress=torch.tensor([0, 1, 2]), least=torch.tensor([9, 0]))
    logits = torch.randn(2, 5)
    offer = stuck.offer(logits.clone(), torch.zeros(2), history([4], [4]))
    values, tokens = offer.top(2)
    assert tokens[:, 0].tolist() == [EOS, EOS]
    assert values[:, 0].tolist() == logits[:, EOS].tolist()


def test_filled_prefixes_are_numbers_even_when_empty() -> None:
    assert forced_tokens([(), ()], CPU).shape == (2, 0)
    assert forced_tokens([(), ()], CPU).dtype == torch.long
    assert forced_tokens([(7,), (8, 9)], CPU).tolist() == [[7, FREE], [8, 9]]


def test_the_best_of_a_sentence_are_those_of_all_its_beams() -> None:
    logits, score = torch.randn(6, 400), 2 * torch.randn(2, 3)
    whole = (score.view(6, 1) + logits.log_softmax(-1)).view(2, -1).topk(8)
    for most in (100, 0):  # free, and with an end that is forced
        offer = rules(most=torch.full((2,), most)).offer(
            logits.clone(), logits.logsumexp(-1), torch.zeros(2, 3, 0).long()
        )
        total, value, token, beam = offer.best(score, 8)
        torch.testing.assert_close(total, score.gather(1, beam) + value)
        if most:
            torch.testing.assert_close(total, whole.values)
            assert torch.equal(beam * 400 + token, whole.indices)
        else:
            assert (token[:, :3] == EOS).all()
            assert (total[:, 3:] == -torch.inf).all()


def test_no_output_is_longer_than_there_are_positions() -> None:
    free = rules(most=torch.tensor([3, 100]))
    assert free.within(None) is free
    assert free.within(9).most.tolist() == [3, 8]
    forced = rules(forced=forced_tokens([(4, 5, 6), ()], CPU))
    assert forced.within(4).most.tolist() == [3, 3]
    with pytest.raises(UsageError, match="a prefix has 3 tokens, but the model has learned 3 positions"):
        forced.within(3)
