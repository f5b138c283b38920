from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError, UsageError
from regard.data.labeled_inputs import held_out, read_inputs


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_texts_with_labels(tmp_path: Path) -> None:
    found = read_inputs(write(tmp_path / "a.tsv", "x\tthe cat\ny\tthe dog\n"))
    assert (found.inputs, found.labels, found.are_texts) == (["the cat", "the dog"], ("x", "y"), True)
    assert found.pick([1]).inputs == ["the dog"] and found.pick([1]).labels == ("y",)
    pairs = read_inputs(write(tmp_path / "b.tsv", "x\tthe cat\ta dog\n"))
    assert pairs.inputs == [("the cat", "a dog")] and pairs.shown(0) == "the cat | a dog"
    lines = read_inputs(write(tmp_path / "lines.txt", "one\ntwo\n"), write(tmp_path / "labels.txt", "a\nb\n"))
    assert (lines.inputs, lines.labels) == (["one", "two"], ("a", "b"))


def test_files_in_folders_and_arrays(tmp_path: Path) -> None:
    for name in ("cats/1.png", "dogs/2.png", "dogs/.hidden"):
        (tmp_path / "pets" / name).parent.mkdir(parents=True, exist_ok=True)
        write(tmp_path / "pets" / name, "")
    found = read_inputs(tmp_path / "pets")
    assert found.labels == ("cats", "dogs") and not found.are_texts
    assert found.shown(1) == "dogs/2.png"
    factors = np.array([[0, 1], [1, 1], [1, 0]])
    np.savez(tmp_path / "a.npz", inputs=np.zeros((3, 2, 2)), factors=factors, factor_names=["shape", "x"])
    arrays = read_inputs(tmp_path / "a.npz")
    assert arrays.labels == ("0", "1", "1") and arrays.factor_names == ("shape", "x")
    assert arrays.pick([2, 0]).factors.tolist() == [[1, 0], [0, 1]]
    assert arrays.shown(2) == "1, example 3"
    np.savez(tmp_path / "b.npz", inputs=np.array(["a b", "c"]), labels=np.array(["x", "y"]))
    assert read_inputs(tmp_path / "b.npz").inputs == ["a b", "c"]


@pytest.mark.parametrize(("arrays", "words"), [
    ({"inputs": np.zeros(3)}, "must hold 'inputs', and 'labels' or 'factors', but holds inputs"),
    ({"inputs": np.zeros(3), "labels": np.zeros(2)}, "has 2 labels, but 3 inputs"),
    ({"inputs": np.zeros(3), "factors": np.zeros((3, 1))}, "'factors' must be whole numbers"),
])  # fmt: skip
def test_arrays_that_do_not_fit(arrays: dict, words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(RegardError, match=words):
        read_inputs(tmp_path / "a.npz")


def test_mistakes(tmp_path: Path) -> None:
    lines = write(tmp_path / "lines.txt", "one\ntwo\n")
    with pytest.raises(RegardError, match=r"labels\.txt: has 1 labels, but .*lines\.txt has 2 lines"):
        read_inputs(lines, write(tmp_path / "labels.txt", "a\n"))
    with pytest.raises(UsageError, match="there are no labels in it"):
        read_inputs(lines)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegardError, match="must hold a folder of files for each label"):
        read_inputs(tmp_path / "empty")
    with pytest.raises(RegardError, match="cannot be read as arrays"):
        read_inputs(write(tmp_path / "a.npz", "no"))


def test_a_share_of_each_class_is_held_out() -> None:
    labels = ["a"] * 10 + ["b"] * 5 + ["c"]
    kept, hidden = held_out(labels)
    assert sorted([*kept, *hidden]) == list(range(16))
    assert [labels[at] for at in hidden] == ["a", "a", "b"]
    assert held_out(labels)[1].tolist() == hidden.tolist()
