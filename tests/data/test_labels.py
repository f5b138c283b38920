import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.data.labels import (
    LabeledExample,
    LabeledRows,
    balanced_weights,
    classes_of,
    label_tensor,
    numbered,
    unseen_classes,
)
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings


def test_classes_are_the_labels_in_order_and_others_are_counted() -> None:
    seen = [LabeledExample(("b",), ("x",), 1), LabeledExample(("a",), ("x",), 2)]
    classes = classes_of(seen, "train.tsv")
    assert classes == ("a", "b")
    assert numbered(seen, classes) == [(1,), (0,)]
    assert unseen_classes([*seen, LabeledExample(("c", "a"), ("x",), 7)], classes) == {"c": 1}
    with pytest.raises(RegardError, match="at least two labels, but has b"):
        classes_of(seen[:1], "train.tsv")


def test_balanced_weights_give_each_class_the_same_sum() -> None:
    weights = balanced_weights(torch.tensor([0, 0, 0, 1]), 2)
    assert weights.tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2.0])
    several = balanced_weights(label_tensor([(0,), (0, 1), ()], 2, "several"), 2)
    assert several.tolist() == pytest.approx([3 / 4, (3 / 4 + 3 / 2) / 2, 1.0])


def test_every_example_comes_once_an_epoch_and_shares_part_it() -> None:
    rows = [([2, *[5] * length, 3], [0] * (length + 2)) for length in range(1, 9)]
    lengths = np.array([len(row) for row, _ in rows], dtype=np.int32)
    labels = torch.arange(8)
    made = LabeledRows(rows, labels, torch.ones(8), BatchPlan(lengths, lengths, BatchSettings(tokens=24)))
    seen = torch.cat([item.labels for item in made.all()])
    assert sorted(seen.tolist()) == list(range(8))
    assert made.epoch() == (len(made.all()), 8)
    item = made.at(BatchPosition(epoch=3))
    assert torch.equal(item.labels, made.at(BatchPosition(epoch=3)).labels)
    assert (item.texts.lengths - 3 == item.labels).all()
    shares = item.shares(2)
    assert sum(share.count for share in shares) == item.count
    assert all((share.texts.lengths - 3 == share.labels).all() for share in shares)
