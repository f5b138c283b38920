"""Sets of vectors with something to learn about each: examples, batches, and files of them (JSON lines).

    {"elements": [[3.2], [9.1], [4.0]], "target": 9.1}        a number, or a list of numbers
    {"elements": [[0.1, 0.2], [0.3, 0.1]], "target": "ring"}    a class

The order of the elements means nothing. A set may be empty: `"elements": []`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from regard.base.errors import RegardError
from regard.data.item import even_rows
from regard.data.vector_files import LARGEST_FLOAT32, Vectors, fits_float32, member_of, objects_in, vectors_in


@dataclass(frozen=True, eq=False)
class SetExample:
    """A set [size, width] and its target: numbers, or the name of a class; nothing where the set itself is the goal."""

    elements: Vectors
    target: tuple[float, ...] | str = ()


@dataclass(frozen=True)
class SetBatch:
    """Sets with padding behind their elements, and targets: numbers [batch, targets], or classes [batch]."""

    elements: Float[Tensor, "batch size width"]
    lengths: Int64[Tensor, "batch"]
    targets: Float[Tensor, "batch targets"] | Int64[Tensor, "batch"]
    goal: Any
    """what is learned about the sets: a `Goal`"""

    @property
    def count(self) -> int:
        """The number of sets."""
        return len(self.lengths)

    @property
    def size(self) -> int:
        """The number of sets; none of them is padding."""
        return len(self.lengths)

    def to(self, device: torch.device | str) -> "SetBatch":
        """The same batch on another device."""
        return SetBatch(self.elements.to(device), self.lengths.to(device), self.targets.to(device), self.goal)

    def shares(self, count: int) -> list["SetBatch"]:
        """At most `count` batches with about as many elements each."""
        parts = even_rows(self.lengths.clamp(min=1), count)
        return [SetBatch(self.elements[rows], self.lengths[rows], self.targets[rows], self.goal) for rows in parts]


@dataclass(frozen=True)
class Scale:
    """What numbers are shifted and divided by, so that those of the training data have mean 0 and variance 1."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, rows: np.ndarray) -> "Scale":
        """The scale of rows [count, width]; a column that never varies is only shifted."""
        deviation = rows.std(0)
        return cls(tuple(rows.mean(0).tolist()), tuple(np.where(deviation > 0, deviation, 1.0).tolist()))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> "Scale":
        """The scale that a model file holds."""
        return cls(tuple(table["mean"]), tuple(table["deviation"]))

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """The rows in units of the scale."""
        return (rows - np.array(self.mean)) / np.array(self.deviation)

    def restored(self, rows: np.ndarray) -> np.ndarray:
        """The rows in their own units."""
        return rows * np.array(self.deviation) + np.array(self.mean)


def read_sets(path: Path, width: int | None = None) -> list[SetExample]:
    """The sets and targets of a file; the first mistake in it is an error that names its line."""
    rows = [
        (where, elements_in(record, where), member_of(record, "target", where)) for where, record in objects_in(path)
    ]
    if not rows:
        raise RegardError(f"{path}: there are no examples")
    filled = next((elements.shape[1] for _, elements, _ in rows if len(elements)), None)
    wanted = width if width is not None else filled
    if wanted is None:
        raise RegardError(f"{path}: all sets are empty, so the width of an element is unknown")
    found = []
    for where, elements, target in rows:
        if len(elements) and elements.shape[1] != wanted:
            raise RegardError(f"{where}: an element has {elements.shape[1]} numbers, but {wanted} are expected")
        found.append(SetExample(elements.reshape(-1, wanted), _target(target, where)))
    for (where, _, _), one in zip(rows, found, strict=True):
        if _kind(one.target) != _kind(found[0].target):
            raise RegardError(
                f"{where}: the target is {_kind(one.target)}, but in the first line {_kind(found[0].target)}"
            )
    return found


def elements_in(record: Any, where: str, width: int | None = None) -> Vectors:
    """The elements of an object."""
    return vectors_in(member_of(record, "elements", where), where, width)


def _target(target: Any, where: str) -> tuple[float, ...] | str:
    if isinstance(target, str) and target.strip():
        return target
    numbers = target if isinstance(target, list) else [target]
    if not numbers or not all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers):
        raise RegardError(f"{where}: the target must be a number, a list of numbers or a class, but is {target!r}")
    if not all(fits_float32(one) for one in numbers):
        raise RegardError(
            f"{where}: the target has a number that is none of float32, whose largest is {LARGEST_FLOAT32:.1e}"
        )
    return tuple(map(float, numbers))


def _kind(target: tuple[float, ...] | str) -> str:
    return "a class" if isinstance(target, str) else f"{len(target)} numbers"


def padded_sets(
    sets: Sequence[Vectors], scale: Scale
) -> tuple[Float[Tensor, "batch size width"], Int64[Tensor, "batch"]]:
    """Scaled sets as one tensor with zeros behind them, at least one place wide, and their sizes."""
    lengths = torch.tensor([len(one) for one in sets])
    padded = np.zeros((len(sets), max(1, int(lengths.max())), len(scale.mean)), dtype=np.float32)
    for place, one in zip(padded, sets, strict=True):
        place[: len(one)] = scale.scaled(one)
    return torch.from_numpy(padded), lengths


def real_elements(
    elements: Float[Tensor, "batch size element"], lengths: Int64[Tensor, "batch"]
) -> Bool[Tensor, "batch size"]:
    """Which elements are no padding."""
    return torch.arange(elements.shape[1], device=elements.device) < lengths[:, None]
