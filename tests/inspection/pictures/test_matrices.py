"""Matrices from files, and the sentence for each way in which a file can be wrong."""

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
        ("a.json", '{"weights": [[1, 2', "line 1, column 19: not JSON"),
        ("a.json", b'["\xff"]', "byte 2 is not UTF-8"),
        ("a.json", '{"weight": [[1]]}', "has no 'weights'; its keys are: weight"),
        ("a.json", '{"weights": [[1, 2], [3]]}', "row 2 has 1 numbers, but row 1 has 2"),
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
        ("a.npy", "1 2", "cannot read a matrix from '.npy'"),
        ("a.safetensors", "no tensors at all", "not a safetensors file"),
        ("a.txt", "1 2", "known endings are .json, .safetensors"),
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


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        read_matrix(tmp_path / "a.json")
    (tmp_path / "b.json").mkdir()
    with pytest.raises(UsageError, match="is a folder, not a file"):
        read_matrix(tmp_path / "b.json")


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [((3,), "must hold a matrix"), ((0, 3), "must hold a matrix"), ((2, 3, 4, 4), "choose one: --index 0,0")],
)
def test_what_is_no_matrix_is_refused(tmp_path: Path, shape: tuple[int, ...], sentence: str) -> None:
    save_file({"weights": torch.zeros(shape)}, tmp_path / "a.safetensors")
    with pytest.raises(UsageError, match=sentence):
        read_matrix(tmp_path / "a.safetensors")


def test_one_matrix_of_several(tmp_path: Path) -> None:
    heads = torch.arange(24.0).reshape(2, 3, 2, 2)
    path = tmp_path / "a.safetensors"
    save_file({"heads": heads}, path)
    np.testing.assert_array_equal(read_matrix(path, index=(1, 2)).weights, heads[1, 2])
    with pytest.raises(UsageError, match="--index 2,0 is outside of the shape"):
        read_matrix(path, index=(2, 0))
    with pytest.raises(UsageError, match="must hold a matrix"):
        read_matrix(path, index=(0, 0, 0))
    save_file({"heads": heads[:1, :1]}, path)
    np.testing.assert_array_equal(read_matrix(path).weights, heads[0, 0])


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
    matrix = read_matrix(write(tmp_path, "a.json", json.dumps({"columns": ["the", "cat"], "weights": WEIGHTS})))
    again = matrix.named(rows=["a", "b"])
    assert again.rows == ("a", "b")
    assert again.columns == ("the", "cat")
