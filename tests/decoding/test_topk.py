import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.decoding.topk import LogSumExp, top, top_of_all


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 4), st.integers(1, 1500), st.integers(1, 12), st.integers(0, 1000))
def test_top_is_topk(rows: int, vocabulary: int, count: int, seed: int) -> None:
    logits = torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))
    count = min(count, vocabulary)
    values, places = top(logits, count)
    expected = logits.topk(count)
    assert torch.equal(values, expected.values)
    assert torch.equal(places, expected.indices)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 900), st.integers(1, 12), st.integers(0, 1000))
def test_top_of_all_is_topk_over_the_rows_of_a_group(
    groups: int, beams: int, vocabulary: int, count: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(groups * beams, vocabulary, generator=generator)
    shift = 3 * torch.randn(groups, beams, generator=generator)
    count = min(count, beams * vocabulary)
    total, logit, beam, place = top_of_all(logits, shift, count)
    expected = (logits.view(groups, beams, vocabulary) + shift[:, :, None]).view(groups, -1).topk(count)
    assert torch.equal(total, expected.values)
    assert torch.equal(beam * vocabulary + place, expected.indices)
    assert torch.equal(logit, logits.view(groups, -1).gather(1, expected.indices))


def test_groups_with_rows_that_do_not_exist() -> None:
    shift = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]])
    beam = top_of_all(torch.randn(4, 700), shift, 5)[2]
    assert beam.tolist() == [[0] * 5, [1] * 5]


@pytest.mark.parametrize("place", [0, 63, 64, 639, 640, 699])
def test_the_largest_is_found_wherever_it_stands(place: int) -> None:
    logits = torch.full((1, 700), -torch.inf)
    logits[0, place] = 1.0
    assert top(logits, 2)[1][0, 0] == place


def test_log_sum_exp_is_torchs_and_leaves_the_logits_alone() -> None:
    log_sum_exp = LogSumExp()
    for rows in (5, 2, 7):
        logits = 50 * torch.randn(rows, 300)
        before = logits.clone()
        torch.testing.assert_close(log_sum_exp(logits), before.logsumexp(-1))
        assert torch.equal(logits, before)
    logits[:, 100:] = -torch.inf  # words that are not listed
    torch.testing.assert_close(log_sum_exp(logits), logits[:, :100].logsumexp(-1))
