from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError, RegardError
from regard.data.labels import (
    LabeledExample,
    LabeledRows,
    balanced_weights,
    classes_of,
    label_tensor,
    numbered,
    read_labeled,
)
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_tables_and_objects_are_read(tmp_path: Path) -> None:
    table = written(tmp_path, "a.tsv", "yes\tone\ttwo\n\nno\tthree\tfour\n")
    assert read_labeled(table) == [
        LabeledExample(("yes",), ("one", "two"), 1),
        LabeledExample(("no",), ("three", "four"), 3),
    ]
    objects = written(tmp_path, "a.jsonl", '{"y": 1, "x": "one"}\n{"y": ["a", "b"], "x": "two"}\n')
    several = read_labeled(objects, keys=("y", "x"), labels="several")
    assert [example.labels for example in several] == [("1",), ("a", "b")]
    commas = written(tmp_path, "b.tsv", "a, b\tone\n\ttwo\n")
    assert [example.labels for example in read_labeled(commas, labels="several")] == [("a", "b"), ()]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.tsv", "yes one\n", "line 1: must be a label and one or two texts, split at tabs, but has 1 columns"),
        ("a.tsv", "yes\tone\nno\ta\tb\n", "line 2: has 2 texts, but the lines before have 1"),
        ("a.tsv", "\tone\n", "line 1: must have one label; set data.labels"),
        ("a.tsv", "\n", "there are no examples"),
        ("a.jsonl", '{"label": "a"}\n', "line 1: must be a JSON object with label, text"),
        ("a.jsonl", '{"label": "a", "text": 3}\n', "line 1: text must be texts"),
        ("a.jsonl", '{"label": ["a", "b"], "text": "x"}\n', "line 1: must have one label"),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(RegardError, match=complaint):
        read_labeled(written(tmp_path, name, text))


def test_a_format_must_be_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is this tsv or jsonl"):
        read_labeled(written(tmp_path, "a.txt", "yes\tone\n"))


def test_a_label_that_training_did_not_see_is_named() -> None:
    seen = [LabeledExample(("b",), ("x",), 1), LabeledExample(("a",), ("x",), 2)]
    classes = classes_of(seen, "train.tsv")
    assert classes == ("a", "b")
    assert numbered(seen, classes, "train.tsv") == [(1,), (0,)]
    with pytest.raises(
        RegardError, match=r"dev.tsv, line 7: the label 'c' does not occur in the training data; .* a, b"
    ):
        numbered([LabeledExample(("c",), ("x",), 7)], classes, "dev.tsv")
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
