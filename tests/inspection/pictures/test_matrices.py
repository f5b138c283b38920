"""Matrices from files, and the sentence for each way in which a file can be wrong."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from regard.base.errors import UsageError
from regard.inspection.pictures.matrices import read_matrix

WEIGHTS = [[0.9, 0.1], [0.25, 0.75]]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def array_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "rows", "columns"),
    [
        (
            "a.json",
            json.dumps({"rows": ["le", "chat"], "columns": ["the", "cat"], "weights": WEIGHTS}),
            "le chat",
            "the cat",
        ),
        ("a.json", json.dumps(WEIGHTS), None, None),
        ("a.JSON", "\ufeff" + json.dumps({"weights": WEIGHTS, "layer": 3}), None, None),
        ("a.csv", "0.9,0.1\n0.25,0.75\n", None, None),
        ("a.csv", ",the,cat\nle,0.9,0.1\nchat,.25,.75\n", "le chat", "the cat"),
        ("a.csv", "the,cat\nle,0.9,0.1\nchat,.25,.75\n", "le chat", "the cat"),
        ("a.csv", 'the,"cat"\r\n0.9,0.1\r\n.25,.75\r\n\r\n', None, "the cat"),
        ("a.csv", "le,0.9,0.1\nchat,.25,.75", "le chat", None),
        ("a.csv", ",the,2019\n1,0.9,0.1\n2,.25,.75", "1 2", "the 2019"),
        ("a.tsv", 'the\t"\n0.9\t0.1\n.25\t.75\n', None, 'the "'),
        ("a.tsv", "猫\tкот\n0.9\t0.1\n.25\t.75\n", None, "猫 кот"),
        ("a.npy", array_bytes(np.array(WEIGHTS)), None, None),
        ("a.npy", array_bytes(np.array([[WEIGHTS]])), None, None),
    ],
)
def test_matrices_and_tokens(
    tmp_path: Path, name: str, content: str | bytes, rows: str | None, columns: str | None
) -> None:
    matrix = read_matrix(write(tmp_path, name, content))
    np.testing.assert_allclose(matrix.weights, WEIGHTS)
    assert matrix.rows == (tuple(rows.split()) if rows else None)
    assert matrix.columns == (tuple(columns.split()) if columns else None)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", "", "the file is empty"),
        ("a.json", " \n", "the file is empty"),
        ("a.csv", "", "the file is empty"),
        ("a.csv", "\n\n", "the file is empty"),
        ("a.npy", "", "the file is empty"),
        ("a.json", '{"weights": [[1, 2', "line 1, column 19: not JSON"),
        ("a.json", b'["\xff"]', "byte 2 is not UTF-8"),
        ("a.csv", b"1,\xe9", "byte 2 is not UTF-8"),
        ("a.json", '{"weight": [[1]]}', "has no 'weights'; its keys are: weight"),
        ("a.json", '{"weights": [[1, 2], [3]]}', "row 2 has 1 numbers, but row 1 has 2"),
        ("a.csv", "1,2\n3\n", "row 2 has 1 numbers, but row 1 has 2"),
        ("a.json", '[[1, "x"]]', "row 1, column 2: 'x' is not a number"),
        ("a.json", "[[1, true]]", "row 1, column 2: True is not a number"),
        ("a.json", "[[1, [2]]]", "row 1, column 2: [2] is not a number"),
        ("a.json", "[[1, NaN]]", "row 1, column 2 is not a finite number"),
        ("a.json", f"[[1, 1{'0' * 400}]]", "holds a number too large to be drawn"),
        ("a.json", "[" * 100_000, "too deep"),
        ("a.json", "[1, 2]", "weights must be a list of rows"),
        ("a.json", "[[]]", "weights must be a list of rows"),
        ("a.json", "3", "weights must be a list of rows"),
        ("a.json", '{"rows": "ab", "weights": [[1], [2]]}', "rows must be a list of texts"),
        ("a.json", '{"columns": ["a"], "weights": [[1, 2]]}', "the matrix has 2 columns, but there are 1 tokens"),
        ("a.csv", "1,2,3\n4,x,6\n7,8,9\n", "row 2, column 2: 'x' is not a number"),
        ("a.csv", "the,cat\n", "has tokens, but no numbers"),
        ("a.csv", 'a,"b\n1,2', "not a table"),
        ("a.npy", "no array at all", "not a NumPy array of numbers"),
        ("a.npy", array_bytes(np.zeros((2, 2)))[:-3], "not a NumPy array of numbers"),
        ("a.npy", array_bytes(np.array([["a"]])), "must hold numbers, but holds <U1"),
        ("a.npy", array_bytes(np.zeros(3)), "must hold a matrix"),
        ("a.npy", array_bytes(np.zeros((0, 3))), "must hold a matrix"),
        ("a.npy", array_bytes(np.zeros((2, 3, 4, 4))), "choose one, as with --index 0,0"),
        ("a.safetensors", "no tensors at all", "not a safetensors file"),
        ("a.txt", "1 2", "known endings are .json, .csv, .tsv, .npy, .safetensors"),
    ],
)
def test_a_broken_file_is_one_sentence_with_its_name(
    tmp_path: Path, name: str, content: str | bytes, sentence: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(UsageError) as caught:
        read_matrix(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert sentence in str(caught.value)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="not a NumPy array of numbers"):
        read_matrix(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_matrix(tmp_path / "a.json")
    (tmp_path / "b.json").mkdir()
    with pytest.raises(UsageError, match="is a folder, not a file"):
        read_matrix(tmp_path / "b.json")


def test_one_matrix_of_several(tmp_path: Path) -> None:
    heads = np.arange(24.0).reshape(2, 3, 2, 2)
    path = write(tmp_path, "a.npy", array_bytes(heads))
    np.testing.assert_array_equal(read_matrix(path, index=(1, 2)).weights, heads[1, 2])
    with pytest.raises(UsageError, match="--index 2,0 is outside of the shape"):
        read_matrix(path, index=(2, 0))
    with pytest.raises(UsageError, match="must hold a matrix"):
        read_matrix(path, index=(0, 0, 0))


def test_a_tensor_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    save_file({"self": torch.eye(2, dtype=torch.bfloat16), "cross": torch.tensor(WEIGHTS)}, path)
    np.testing.assert_array_equal(read_matrix(path, name="self").weights, np.eye(2))
    with pytest.raises(UsageError, match="choose a tensor with --name; there are: cross, self"):
        read_matrix(path)
    with pytest.raises(UsageError, match=r"unknown 'crosss'.*did you mean 'cross'"):
        read_matrix(path, name="crosss")
    with pytest.raises(UsageError, match="leave out --name"):
        read_matrix(write(tmp_path, "b.json", "[[1]]"), name="x")


def test_tokens_can_be_given_later(tmp_path: Path) -> None:
    matrix = read_matrix(write(tmp_path, "a.csv", ",the,cat\nle,0.9,0.1\nchat,.25,.75\n"))
    again = matrix.named(rows=["a", "b"])
    assert again.rows == ("a", "b")
    assert again.columns == ("the", "cat")
