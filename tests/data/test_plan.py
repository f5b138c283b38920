"""Every pair once an epoch, within the budget, with little padding, from any position on the same."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.base.config import from_dict
from regard.base.errors import ConfigError, RegardError
from regard.data.corpus import open_corpus
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings, Counted
from regard.data.store import build_store
from regard.data.subwords.learn import SubwordSettings, train_pair

rows = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)
choices = st.fixed_dictionaries(
    {
        "tokens": st.integers(60, 400),
        "counted": st.sampled_from(["source", "target", "both"]),
        "sentences": st.none() | st.integers(1, 20),
        "longest": st.none() | st.integers(60, 99),
        "pool": st.integers(1, 300),
        "seed": st.integers(0, 2**64),
    }
)


def lengths(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def made(pairs: list[tuple[int, int]], **how: Any) -> BatchPlan:
    return BatchPlan(*lengths(pairs), BatchSettings(**how))


def random_pairs(count: int, seed: int = 0) -> list[tuple[int, int]]:
    draw = np.random.default_rng(seed)
    source = draw.gamma(5, 3, count).astype(int) + 1
    target = np.maximum(1, source + draw.normal(0, 2, count).astype(int))
    return list(zip(source.tolist(), target.tolist(), strict=True))


@given(pairs=rows, how=choices, epoch=st.integers(0, 10**6))
def test_every_pair_exactly_once_an_epoch(pairs: list[tuple[int, int]], how: dict[str, Any], epoch: int) -> None:
    batches = made(pairs, **how)
    plan = batches.plan(epoch)
    seen = np.concatenate(list(plan))
    assert sorted(seen.tolist()) == list(range(len(pairs)))
    assert len(batches) == len(pairs)
    assert batches.report() == ""
    for batch in plan:
        source, target = (side[batch].max() for side in lengths(pairs))
        widest = {"source": source, "target": target, "both": max(source, target)}[how["counted"]]
        assert 1 <= len(batch) <= (how["sentences"] or len(pairs))
        assert len(batch) * widest <= how["tokens"]


@given(pairs=rows, how=choices, skip=st.integers(0, 30))
def test_resuming_anywhere_gives_the_same_batches(pairs: list[tuple[int, int]], how: dict[str, Any], skip: int) -> None:
    whole = made(pairs, **how)
    walked = list(islice(whole.walk(), skip + 5))
    position = BatchPosition(**vars(walked[skip]))
    resumed = made(pairs, **how)
    assert list(islice(resumed.walk(position), 5)) == walked[skip:]
    for at in walked[skip:]:
        assert resumed.at(at).tolist() == whole.at(at).tolist()


def test_positions_go_through_epochs() -> None:
    batches = made([(5, 5)] * 10, tokens=25)
    assert [(at.epoch, at.index) for at in islice(batches.walk(), 5)] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]
    assert batches.after(BatchPosition(epoch=3, index=1)) == BatchPosition(epoch=4)
    with pytest.raises(RegardError, match="epoch 3 has 2 batches, so there is no batch 2"):
        batches.at(BatchPosition(epoch=3, index=2))


def test_seed_and_epoch_each_matter() -> None:
    pairs = random_pairs(500)
    orders = [made(pairs, seed=seed).plan(epoch).order.tolist() for seed in (1, 2) for epoch in (0, 1)]
    assert len({tuple(order) for order in orders}) == 4
    assert made(pairs, seed=1).plan(1).order.tolist() == orders[1]


def test_an_epoch_does_not_depend_on_those_before() -> None:
    batches = made(random_pairs(500), tokens=200)
    straight = [batch.tolist() for epoch in range(3) for batch in batches.plan(epoch)]
    back = {epoch: [batch.tolist() for batch in batches.plan(epoch)] for epoch in (2, 0, 1)}
    assert back[0] + back[1] + back[2] == straight


def test_company_changes_from_epoch_to_epoch() -> None:
    batches = made(random_pairs(5_000), tokens=400, pool=1_000)
    together = [{frozenset(batch.tolist()) for batch in batches.plan(epoch)} for epoch in (0, 1)]
    assert len(together[0] & together[1]) < 0.05 * len(together[0])


def test_batches_come_in_no_order_of_length() -> None:
    pairs = random_pairs(5_000)
    target = lengths(pairs)[1]
    widths = [int(target[batch].max()) for batch in made(pairs, tokens=400).plan(0)]
    assert widths not in (sorted(widths), sorted(widths, reverse=True))
    assert abs(np.corrcoef(widths, range(len(widths)))[0, 1]) < 0.2


def test_pairs_left_out_are_reported() -> None:
    batches = made([(5, 5), (5, 50), (50, 5), (5, 31), (31, 5)], tokens=30, longest=40)
    assert (batches.too_long, batches.over_budget) == (2, 1)
    assert np.concatenate(list(batches.plan(0))).tolist() in ([0, 4], [4, 0])
    assert batches.report() == (
        "left out of training: 2 pairs are longer than longest = 40 tokens; 1 pair does not fit a batch of tokens = 30"
    )
    with pytest.raises(RegardError, match="none of the 1 pair can be used; left out of training: 1 pair does"):
        made([(9, 9)], tokens=8)


def test_sides_must_be_equally_many() -> None:
    with pytest.raises(RegardError, match="2 sources but 1 target"):
        BatchPlan(np.ones(2, np.int32), np.ones(1, np.int32), BatchSettings())


def test_plans_are_sequences() -> None:
    plan = made([(5, 5)] * 10, tokens=25).plan(0)
    assert len(plan) == 2
    for index in (-1, 2):
        with pytest.raises(IndexError, match=f"batch {index} of 2"):
            plan[index]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"tokens": 0}, "tokens must be at least 1"),
        ({"counted": "sorce"}, r"did you mean 'source'\?"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"pool": 0}, "pool must be at least 1"),
    ],
)
def test_wrong_settings_are_named(how: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_dict(how, BatchSettings, "batches")


def padding(batches: BatchPlan, sides: tuple[np.ndarray, np.ndarray]) -> list[float]:
    """The share of padding in each side of an epoch's batches."""
    plan = list(batches.plan(0))
    padded = [sum(len(batch) * int(side[batch].max()) for batch in plan) for side in sides]
    real = [sum(int(side[batch].sum()) for batch in plan) for side in sides]
    return [1 - some / whole for some, whole in zip(real, padded, strict=True)]


@settings(max_examples=5)
@given(seed=st.integers(0, 99))
@pytest.mark.parametrize("counted", ["source", "target", "both"])
def test_there_is_little_padding(counted: Counted, seed: int) -> None:
    pairs = random_pairs(30_000, seed)
    shares = padding(made(pairs, counted=counted, seed=seed), lengths(pairs))
    assert sum(shares) / 2 < 0.05
    assert max(shares) < 0.08


def test_there_is_little_padding_in_real_text(shared: Path, tmp_path: Path) -> None:
    corpus = open_corpus(shared / "multi30k" / "train.en.gz", shared / "multi30k" / "train.de.gz")
    store = build_store(tmp_path / "store", corpus, train_pair(corpus, SubwordSettings(size=8_000)))
    sides = (store.sides[0].lengths, store.sides[1].lengths)
    batches = BatchPlan(*sides, BatchSettings(tokens=4_096))
    assert len(batches) == 29_000
    assert max(padding(batches, sides)) < 0.05
    assert len(batches.plan(0)) < 1.05 * sides[1].sum() / 4_096 + 1
