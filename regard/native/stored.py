"""Structures and the arrays that they point to, as JSON and back: packed once, they are used again as they are."""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from regard.native.library import address
from regard.native.structures import LayerWeights

_Structure = TypeVar("_Structure", bound=ctypes.Structure)


def described(structure: ctypes.Structure, numbers: Mapping[int, int]) -> dict[str, Any]:
    """The fields of a structure; an address becomes the number of the array that is there."""
    return {name: _described(structure, name, kind, numbers) for name, kind in structure._fields_}  # type: ignore[misc]


def restored(kind: type[_Structure], table: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> _Structure:
    """The structure that `described` described; the caller keeps the arrays."""
    return kind(**{name: _restored(own, table[name], arrays) for name, own in kind._fields_})  # type: ignore[misc]


def _described(structure: Any, name: str, kind: Any, numbers: Mapping[int, int]) -> Any:
    value = getattr(structure, name)
    if kind is ctypes.c_void_p:
        return None if value is None else numbers[value]
    if kind is ctypes.POINTER(LayerWeights):
        return [described(value[at], numbers) for at in range(structure.count)]
    return described(value, numbers) if issubclass(kind, ctypes.Structure) else value


def _restored(kind: Any, value: Any, arrays: Sequence[np.ndarray]) -> Any:
    if kind is ctypes.c_void_p:
        return None if value is None else address(arrays[value])
    if kind is ctypes.POINTER(LayerWeights):
        return (LayerWeights * len(value))(*(restored(LayerWeights, one, arrays) for one in value))
    return restored(kind, value, arrays) if issubclass(kind, ctypes.Structure) else value
