"""Several data sets in one run: a batch of each in every step."""

from typing import Any

import numpy as np
import pytest

from regard.data.item import Batches, Item
from regard.data.labels import LabeledRows
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.several_sets import SeveralSets, several_items


def labeled(count: int, per_batch: int) -> LabeledRows:
    import torch

    lengths = np.full(count, 3, np.int32)
    rows = [([2, 4 + at, 3], [0, 0, 0]) for at in range(count)]
    plan = BatchPlan(lengths, lengths, BatchSettings(tokens=3 * per_batch))
    return LabeledRows(rows, torch.arange(count), torch.ones(count), plan)


def labels(item: Any, name: str) -> list[int]:
    return sorted(item.items[name].labels.tolist())


def test_every_step_has_a_batch_of_each_set() -> None:
    sets = SeveralSets({"main": labeled(8, 2), "small": labeled(3, 3), "large": labeled(20, 2)})
    assert isinstance(sets, Batches) and sets.epoch() == (4, 8 + 12 + 8)
    seen = [sets.at(BatchPosition(epoch=1, index=index)) for index in range(4)]
    assert sorted(label for item in seen for label in labels(item, "main")) == list(range(8))
    assert all(labels(item, "small") == [0, 1, 2] for item in seen)
    assert len({label for item in seen for label in labels(item, "large")}) == 8
    walked = [item for _, (_, item) in zip(range(3), sets.walk(BatchPosition(epoch=1, index=2)), strict=False)]
    assert [labels(item, "large") for item in walked[:2]] == [labels(item, "large") for item in seen[2:]]
    assert labels(walked[2], "large") != labels(seen[0], "large")  # the next epoch has another order


def test_scales_make_a_sum_of_means() -> None:
    item = several_items({"many": labeled(6, 6).at(BatchPosition()), "few": labeled(2, 2).at(BatchPosition())})
    assert isinstance(item, Item) and item.count == item.size == 8
    assert item.scales == pytest.approx({"many": 8 / 6, "few": 8 / 2})
    shares = item.shares(3)
    assert [sorted(share.items) for share in shares] == [["few", "many"], ["few", "many"], ["many"]]
    assert sum(share.count for share in shares) == 8 and all(share.scales == item.scales for share in shares)
