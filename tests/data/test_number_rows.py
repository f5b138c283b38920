import gzip
from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.data.number_rows import ROW_SOURCES, RowBatch, binarized, read_rows

BYTES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


def idx(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def test_arrays_of_every_kind_are_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", BYTES)
    (tmp_path / "b-idx3-ubyte.gz").write_bytes(gzip.compress(idx(BYTES)))
    (tmp_path / "b-idx3-ubyte").write_bytes(idx(BYTES))
    np.savez(tmp_path / "c.npz", x_train=BYTES, y_train=np.array([7, 8]), x_test=BYTES[:1])
    wanted = BYTES.reshape(2, -1) / np.float32(255)
    for name in ("a.npy", "b-idx3-ubyte.gz", "b-idx3-ubyte", "c.npz"):
        found = read_rows(tmp_path / name)
        np.testing.assert_allclose(found.inputs, wanted, rtol=1e-6)
        assert found.shape == (3, 4)
    assert found.labels is not None
    assert found.labels.tolist() == [7, 8]
    assert len(read_rows(tmp_path / "c.npz", "test")) == 1


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (idx(BYTES)[:-1], "it is cut short or too long for its shape"),
        (b"no array", "its first bytes are not those of an idx file"),
        (idx(BYTES[:, 0, 0]), r"must hold numbers \[examples, …\], but holds uint8 \[2\]"),
    ],
)
def test_damaged_files_are_refused(content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "x.idx").write_bytes(content)
    with pytest.raises(RegardError, match=complaint):
        read_rows(tmp_path / "x.idx")


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="there is no such file"):
        read_rows(tmp_path / "none.npy")
    np.savez(tmp_path / "a.npz", other=BYTES)
    with pytest.raises(RegardError, match="has no array 'inputs' or 'x_train'; it has: other"):
        read_rows(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", inputs=BYTES, labels=np.arange(3))
    with pytest.raises(RegardError, match="has 3 labels, but 2 inputs"):
        read_rows(tmp_path / "a.npz")
    np.save(tmp_path / "nan.npy", np.array([[1.0, 2.0], [np.nan, 1.0]]))
    with pytest.raises(RegardError, match="example 1 holds NaN, infinity or a number beyond float32"):
        read_rows(tmp_path / "nan.npy")


def test_gray_is_drawn_or_cut() -> None:
    gray, draw = np.full((50, 40), 0.3, np.float32), np.random.default_rng(1)
    assert 0.25 < binarized(gray, "dynamic", draw).mean() < 0.35
    assert binarized(gray, "threshold", draw).max() == 0
    assert binarized(gray, "none", draw) is gray


@pytest.mark.parametrize("name", ROW_SOURCES.names)
def test_sources_have_numbers_from_0_to_1_and_labels(name: str) -> None:
    found = ROW_SOURCES.make(name).rows()
    assert 0 <= found.inputs.min() < found.inputs.max() <= 1
    assert found.inputs.shape == (len(found), int(np.prod(found.shape)))
    assert found.labels is not None
    train, dev = found.parts()
    assert len(train) + len(dev) == len(found)
    assert len(dev) == round(len(found) / 10)


def test_batches_are_shared() -> None:
    import torch

    shares = RowBatch(torch.zeros(5, 2), 0.5).shares(2)
    assert [share.count for share in shares] == [3, 2]
    assert shares[0].progress == 0.5
