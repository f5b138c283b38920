"""Chunks of a large corpus: every pair once an epoch, from any position on the same, with little in memory."""

from contextlib import ExitStack
from itertools import islice
from typing import Any

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.data import chunk_plan
from regard.data.chunk_plan import ChunkPlan, plan_of
from regard.data.corpus import Counts
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings, WeightedPart
from regard.data.store import RowWriter, Store, Tokens

PAIRS = 3_000


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder, draw = tmp_path_factory.mktemp("store"), np.random.default_rng(1)
    with ExitStack() as files:
        for at in range(2):
            lengths = draw.integers(2, 30, PAIRS)
            writer = RowWriter(files, folder, f"side{at}", "<u2")
            writer.write_flat(np.zeros(int(lengths.sum()), "<u2"), lengths)
    return Store(folder, tuple(Tokens(folder, f"side{at}", "<u2") for at in range(2)), Counts())


def settings(**changes: Any) -> BatchSettings:
    return BatchSettings(**{"tokens": 200, "pool": 1_000, "shuffle": "chunks"} | changes)


def epoch(plan: ChunkPlan, number: int = 0) -> list[list[int]]:
    found = []
    for position in plan.walk(BatchPosition(epoch=number)):
        if position.epoch > number:
            return found
        found.append(plan.at(position).tolist())
    raise AssertionError


def test_an_epoch_has_every_pair_once_in_an_order_of_its_own(store: Store) -> None:
    plan = ChunkPlan(store.sides, settings())
    first, second = epoch(plan), epoch(plan, 1)
    assert sorted(pair for batch in first for pair in batch) == list(range(PAIRS))
    assert sorted(pair for batch in second for pair in batch) == list(range(PAIRS))
    assert first != second
    assert first == epoch(ChunkPlan(store.sides, settings()))
    lengths = store.sides[1].lengths
    assert all(len(batch) * lengths[batch].max() <= 200 for batch in first)
    assert np.mean([len(set(np.array(batch) // 256)) for batch in first]) > 2  # neighbors are parted


def test_any_position_is_reached_at_once(store: Store) -> None:
    plan = ChunkPlan(store.sides, settings())
    walked = [(at, plan.at(at).tolist()) for at in islice(plan.walk(), 400)]
    for at in (0, 150, 399):
        position, batch = walked[at]
        fresh = ChunkPlan(store.sides, settings())
        assert fresh.at(position).tolist() == batch
        rest = [rows for _, rows in walked[at : at + 3]]
        assert [fresh.at(one).tolist() for one in islice(fresh.walk(position), len(rest))] == rest


def test_parts_come_as_often_as_their_weights_say(store: Store) -> None:
    parts = [WeightedPart(0, 1_024, 2.0), WeightedPart(1_024, PAIRS, 0.5)]
    plan = ChunkPlan(store.sides, settings(), parts)
    pairs = np.array([pair for batch in epoch(plan) for pair in batch])
    assert (np.bincount(pairs, minlength=PAIRS)[:1_024] == 2).all()
    assert (pairs >= 1_024).sum() == pytest.approx((PAIRS - 1_024) / 2, rel=0.15)
    whole = BatchPlan(store.sides[0].lengths, store.sides[1].lengths, settings(shuffle="whole"), parts)
    counts = np.bincount(np.concatenate(list(whole.plan(3))), minlength=PAIRS)
    assert (counts[:1_024] == 2).all()
    assert counts[1_024:].sum() == (PAIRS - 1_024) // 2
    assert counts[1_024:].max() == 1


def test_unusable_pairs_are_counted_and_left_out(store: Store) -> None:
    plan = ChunkPlan(store.sides, settings(longest=20))
    expected = BatchPlan(store.sides[0].lengths, store.sides[1].lengths, settings(longest=20))
    assert (plan.too_long, plan.report(), len(plan)) == (expected.too_long, expected.report(), len(expected))
    assert sum(map(len, epoch(plan))) == len(expected)
    with pytest.raises(RegardError, match="none of the 3,000 pairs can be used"):
        ChunkPlan(store.sides, settings(longest=1, tokens=1))


def test_the_size_of_an_epoch_is_about_right(store: Store) -> None:
    plan = ChunkPlan(store.sides, settings())
    batches, tokens = plan.epoch(store.sides[1])
    assert batches == pytest.approx(len(epoch(plan)), rel=0.1)
    assert tokens == store.sides[1].lengths.sum()


def test_many_pairs_are_shuffled_by_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(plan_of(store, settings(shuffle="auto")), BatchPlan)
    monkeypatch.setattr(chunk_plan, "LARGE", PAIRS - 1)
    assert isinstance(plan_of(store, settings(shuffle="auto")), ChunkPlan)
    assert isinstance(plan_of(store, settings(shuffle="whole")), BatchPlan)


def test_a_position_of_other_data_is_refused(store: Store) -> None:
    with pytest.raises(RegardError, match="were the data or the settings changed"):
        ChunkPlan(store.sides, settings()).at(BatchPosition(index=900))
