import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.data import image_arrays
from regard.data.image_arrays import has_arrays, read_arrays

PIXELS = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def test_arrays_of_an_npz_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=PIXELS, labels=np.array([7, 3]))
    found = read_arrays(tmp_path / "a.npz", "train")
    assert has_arrays(tmp_path / "a.npz")
    assert found.shape == (1, 3, 4)
    assert found.labels == ("7", "3")
    assert torch.equal(found.pixels[:, 0], torch.from_numpy(PIXELS))


def test_parts_of_an_npz_file(tmp_path: Path) -> None:
    arrays = {"x_train": PIXELS, "y_train": np.array([0, 1]), "x_test": PIXELS[:1], "y_test": np.array(["b"])}
    np.savez(tmp_path / "a.npz", **arrays)
    assert len(read_arrays(tmp_path / "a.npz", "train").pixels) == 2
    assert read_arrays(tmp_path / "a.npz", "test").labels == ("b",)


def test_channels_stand_last_or_first(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).random((2, 5, 6, 3), dtype=np.float32)
    np.savez(tmp_path / "last.npz", images=pixels)
    np.savez(tmp_path / "first.npz", images=pixels.transpose(0, 3, 1, 2))
    last, first = (read_arrays(tmp_path / f"{name}.npz", "train").pixels for name in ("last", "first"))
    assert torch.equal(last, first)
    assert list(last.shape) == [2, 3, 5, 6]


def test_an_npy_file_with_its_labels(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", PIXELS)
    assert not has_arrays(tmp_path / "a.npy")
    np.save(tmp_path / "a.labels.npy", np.array(["cat", "dog"]))
    assert has_arrays(tmp_path / "a.npy")
    assert read_arrays(tmp_path / "a.npy", "train").labels == ("cat", "dog")


def idx(path: Path, array: np.ndarray, cut: int = 0) -> None:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress((head + array.tobytes())[: -cut or None]))


def test_idx_files(tmp_path: Path) -> None:
    idx(tmp_path / "train-images-idx3-ubyte.gz", PIXELS)
    idx(tmp_path / "train-labels-idx1-ubyte.gz", np.array([4, 2], np.uint8))
    found = read_arrays(tmp_path / "train-images-idx3-ubyte.gz", "train")
    assert found.labels == ("4", "2")
    assert torch.equal(found.pixels[:, 0], torch.from_numpy(PIXELS))


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        (bool, [0, 1], [0, 255]),
        (np.int64, [0, 255], [0, 255]),
        (np.float64, [0.0, 1.0], [0.0, 1.0]),
        (np.uint16, [0, 65535], [0.0, 1.0]),
    ],
)
def test_shades_of_other_types(dtype: type, values: list[float], expected: list[float], tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array(values, dtype).reshape(1, 1, 2))
    assert read_arrays(tmp_path / "a.npz", "train").pixels.flatten().tolist() == expected


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"x": np.full((1, 2, 2), 300)}, "pixels are int64 from 300 to 300; whole numbers from 0 to 255"),
        ({"x": np.full((1, 2, 2), -0.5)}, "from -0.5 to -0.5"),
        ({"x": np.full((1, 2, 2), np.nan)}, "from nan to nan"),
        ({"x": np.zeros((4, 4), np.uint8)}, r"must be \[count, height, width\]"),
        ({"x": np.zeros((0, 4, 4), np.uint8)}, r"must be \[count, height, width\]"),
        ({"x": np.zeros((1, 4, 4, 2), np.uint8)}, "1 or 3 channels, not 2"),
        ({"x": PIXELS, "y": np.array([1])}, "2 pictures to look at, but 1 labels"),
        ({"x": PIXELS, "y": np.array([0.5, 1])}, "labels must be numbers or texts"),
        ({"x": PIXELS, "which": np.array([0, 2]), "y": np.array([1, 2])}, "'which' names picture 2"),
        ({"z": PIXELS}, "has no array 'pictures' or 'x_train'; its arrays are: z"),
    ],
)
def test_wrong_arrays_are_one_sentence(arrays: dict[str, np.ndarray], sentence: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(RegardError, match=sentence):
        read_arrays(tmp_path / "a.npz", "train")


def test_pickles_are_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.array([{"a": 1}], dtype=object))
    with pytest.raises(RegardError, match="not an array of pictures that can be read"):
        read_arrays(tmp_path / "a.npz", "train")


@pytest.mark.parametrize("cut", [3, 20])
def test_a_cut_idx_file_is_one_sentence(cut: int, tmp_path: Path) -> None:
    idx(tmp_path / "images-idx3.gz", PIXELS, cut=cut)
    with pytest.raises(RegardError, match="is cut short or too long"):
        read_arrays(tmp_path / "images-idx3.gz", "train")


def test_other_files_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "images-idx3.gz").write_bytes(gzip.compress(b"hello"))
    (tmp_path / "a.npz").write_bytes(b"hello")
    (tmp_path / "a.npy").write_bytes(b"hello")
    (tmp_path / "a.txt").write_bytes(b"hello")
    for name, sentence in (
        ("images-idx3.gz", "not an idx file of bytes"),
        ("a.npz", "not an array of pictures"),
        ("a.npy", "not an array of pictures"),
        ("a.txt", "not pictures; give a folder"),
    ):
        with pytest.raises(RegardError, match=sentence):
            read_arrays(tmp_path / name, "train")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", pictures=np.zeros((4, 64, 64), np.uint8))
    np.save(tmp_path / "a.npy", np.zeros((4, 64, 64), np.uint8))
    idx(tmp_path / "images-idx3.gz", np.zeros((4, 64, 64), np.uint8))
    monkeypatch.setattr(image_arrays, "available_memory", lambda: 20_000)
    for name in ("a.npz", "a.npy", "images-idx3.gz"):
        with pytest.raises(RegardError, match="GiB of memory, more than half of what is free"):
            read_arrays(tmp_path / name, "train")


def test_questions_about_pictures(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz", pictures=PIXELS, which=[1, 1, 0], questions=np.eye(3), labels=np.array(["x", "y", "x"])
    )
    found = read_arrays(tmp_path / "a.npz", "train")
    assert found.which.tolist() == [1, 1, 0]
    assert found.questions is not None
    assert torch.equal(found.questions, torch.eye(3))
    for wrong in (np.full((3, 3), np.nan), np.zeros(3)):
        np.savez(
            tmp_path / "b.npz", pictures=PIXELS, which=[1, 1, 0], questions=wrong, labels=np.array(["x", "y", "x"])
        )
        with pytest.raises(RegardError, match="questions must be finite numbers, one row for each question"):
            read_arrays(tmp_path / "b.npz", "train")
