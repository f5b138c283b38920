from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base.errors import ConfigError
from regard.decoding.batching import batches, in_batches

LENGTHS = st.lists(st.integers(0, 50), max_size=60)


@given(LENGTHS, st.integers(1, 200), st.none() | st.integers(1, 9))
def test_batches_hold_every_item_once_and_keep_to_the_budget(lengths: list[int], tokens: int, most: int | None) -> None:
    made = batches(lengths, tokens, most)
    assert sorted(at for batch in made for at in batch) == list(range(len(lengths)))
    for batch in made:
        assert batch
        assert len(batch) == 1 or len(batch) * max(lengths[at] for at in batch) <= tokens
        assert most is None or len(batch) <= most


@given(LENGTHS, st.integers(1, 200))
def test_no_two_neighboring_batches_would_fit_in_one(lengths: list[int], tokens: int) -> None:
    made = batches(lengths, tokens)
    for one, other in pairwise(made):
        longest = max(1, *(lengths[at] for at in one))
        assert (len(one) + 1) * longest > tokens
        assert max(lengths[at] for at in other) <= min(lengths[at] for at in one)


@given(st.lists(st.text(max_size=9)), st.integers(1, 30))
def test_results_keep_the_order_of_the_input(items: list[str], tokens: int) -> None:
    seen = []

    def work(batch: list[str]) -> list[str]:
        seen.extend(batch)
        return [item.upper() for item in batch]

    assert in_batches(items, [len(item) for item in items], work, tokens) == [item.upper() for item in items]
    assert sorted(seen) == sorted(items)


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="tokens must be at least 1"):
        batches([1], 0)


def test_a_result_that_is_missing_is_noticed() -> None:
    with pytest.raises(ValueError, match="shorter"):
        in_batches(["a", "b"], [1, 1], lambda batch: batch[:1], 10)


def test_workers_share_the_batches_and_change_nothing() -> None:
    items = ["a" * (1 + at % 7) for at in range(500)]
    lengths = [len(item) for item in items]
    made: list[int] = []

    def work(batch: list[str]) -> list[str]:
        made.append(len(batch))
        return [item.upper() for item in batch]

    assert in_batches(items, lengths, work, 10_000, workers=3) == [item.upper() for item in items]
    assert len(made) >= 3  # one batch would have been enough


def test_few_items_are_one_batch_however_many_workers_there_are() -> None:
    made: list[int] = []

    def work(batch: list[int]) -> list[int]:
        made.append(len(batch))
        return batch

    in_batches([1, 2, 3], [5, 5, 5], work, 10_000, workers=8)
    assert made == [3]
