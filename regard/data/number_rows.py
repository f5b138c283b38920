"""Examples that are rows of numbers, such as the pixels of a picture: from arrays in files, or from a source without
a download.

| file | what is read |
|---|---|
| `.npz` | the array `inputs`, or `x`, or `x_train` and `x_test`; `labels` or `y`, `factors`, `factor_names` |
| `.npy` | the array |
| idx, also `.gz` | an array of bytes as MNIST has it |

An example is all numbers of an entry of the first axis. Bytes are divided by 255. Nothing pickled is read.
"""

import gzip
import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.base.catalog import Catalog
from regard.base.errors import RegardError

ROW_SOURCES = Catalog("regard.data.row_sources")
Binarizing = Literal["none", "dynamic", "once", "threshold"]
_INPUTS, _LABELS = ("inputs", "x", "pictures", "images"), ("labels", "y")


@dataclass(frozen=True, eq=False)
class RowSet:
    """Rows, the shape that each had, and what is known of them."""

    inputs: NDArray[np.float32]
    """[examples, numbers]"""
    shape: tuple[int, ...]
    """of one example, such as height and width"""
    labels: NDArray[Any] | None = None
    factors: NDArray[np.int64] | None = None
    """[examples, factors]: what each example was made from, where that is known"""
    factor_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.inputs)

    def pick(self, rows: NDArray[np.int64]) -> "RowSet":
        """Some of the examples."""
        labels, factors = (None if one is None else one[rows] for one in (self.labels, self.factors))
        return RowSet(self.inputs[rows], self.shape, labels, factors, self.factor_names)

    def parts(self, share: float = 0.1, seed: int = 1) -> tuple["RowSet", "RowSet"]:
        """Examples to learn from and a share to validate on."""
        order = np.random.default_rng([seed, 9]).permutation(len(self))
        held = max(1, round(share * len(self)))
        return self.pick(np.sort(order[held:])), self.pick(np.sort(order[:held]))


class RowSource(ABC):
    """Examples that need no file."""

    @abstractmethod
    def rows(self) -> RowSet:
        """All examples."""

    def captions(self) -> tuple[str, ...]:
        """What each example shows, in words; nothing where that is not told."""
        return ()


@dataclass(frozen=True)
class RowBatch:
    """Rows to be learned from, and how much of training is done, from 0 to 1."""

    inputs: Float[Tensor, "batch numbers"]
    progress: float = 1.0

    @property
    def count(self) -> int:
        """The number of examples."""
        return len(self.inputs)

    @property
    def size(self) -> int:
        """The number of examples; none of them is padding."""
        return len(self.inputs)

    def to(self, device: torch.device | str) -> "RowBatch":
        """The same batch on another device."""
        return RowBatch(self.inputs.to(device), self.progress)

    def shares(self, count: int) -> list["RowBatch"]:
        """At most `count` batches of about as many rows each."""
        return [RowBatch(part, self.progress) for part in self.inputs.tensor_split(count) if len(part)]


def binarized(rows: NDArray[np.float32], how: Binarizing, draw: np.random.Generator) -> NDArray[np.float32]:
    """Numbers from 0 to 1 as 0 or 1: drawn with that probability, or by a threshold of one half."""
    if how == "none":
        return rows
    return (rows > 0.5 if how == "threshold" else draw.random(rows.shape) < rows).astype(np.float32)


def read_rows(path: Path, part: Literal["train", "test"] = "train") -> RowSet:
    """The rows of a file."""
    path = Path(path)
    if not path.exists():
        raise RegardError(f"{path}: there is no such file")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return _named(path, {name: arrays[name] for name in arrays.files}, part)
        array = np.load(path, allow_pickle=False) if path.suffix == ".npy" else _idx(path)
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise RegardError(f"{path}: not an array that can be read: .npz, .npy or idx is expected ({error})") from error
    return row_set(path, array)


def row_set(path: Path, array: NDArray[Any], **known: Any) -> RowSet:
    """An array [examples, …] as rows, checked."""
    if array.ndim < 2 or not array.size or array.dtype.kind not in "buif":
        raise RegardError(f"{path}: must hold numbers [examples, …], but holds {array.dtype} {list(array.shape)}")
    with np.errstate(over="ignore"):
        rows = array.reshape(len(array), -1).astype(np.float32) / (255.0 if array.dtype == np.uint8 else 1.0)
    if not np.isfinite(rows).all():
        wrong = int((~np.isfinite(rows)).any(1).argmax())
        raise RegardError(f"{path}: example {wrong} holds NaN, infinity or a number beyond float32")
    return RowSet(rows.astype(np.float32), tuple(array.shape[1:]), **known)


def _named(path: Path, arrays: Mapping[str, Any], part: str) -> RowSet:
    found = {
        kind: next((arrays[name] for one in names for name in (f"{one}_{part}", one) if name in arrays), None)
        for kind, names in (("inputs", _INPUTS), ("labels", _LABELS))
    }
    if found["inputs"] is None:
        raise RegardError(f"{path}: has no array 'inputs' or 'x_{part}'; it has: {', '.join(arrays) or 'none'}")
    labels, factors = found["labels"], arrays.get("factors")
    for name, other in (("labels", labels), ("factors", factors)):
        if other is not None and len(other) != len(found["inputs"]):
            raise RegardError(f"{path}: has {len(other):,} {name}, but {len(found['inputs']):,} inputs")
    names = tuple(map(str, arrays.get("factor_names", ())))
    return row_set(path, found["inputs"], labels=labels, factors=factors, factor_names=names)


def _idx(path: Path) -> NDArray[np.uint8]:
    """MNIST's format: 0, 0, 8 (unsigned bytes), the number of axes, their sizes, the bytes."""
    raw = path.read_bytes()
    content = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError("its first bytes are not those of an idx file")
    shape = [int.from_bytes(content[4 * at : 4 * at + 4], "big") for at in range(1, content[3] + 1)]
    if len(content) != 4 + 4 * len(shape) + math.prod(shape):
        raise ValueError(f"it is cut short or too long for its shape {shape}")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
