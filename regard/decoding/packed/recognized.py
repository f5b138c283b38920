"""What is known of a model from the search before, so that it is not examined again while it is the same.

A model is the same while every module has the same attributes, the very same weights, and no weight was written to.
"""

import ctypes
from dataclasses import dataclass
from itertools import chain
from operator import is_, itemgetter
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.attention.position import Position
from regard.decoding.packed.acceptance import packable
from regard.decoding.packed.stacks import CompiledModel, compilable, its_products_work
from regard.models.writer import Writer
from regard.native.kernels import Kernels, kernels


@dataclass(frozen=True)
class KnownModel:
    """A model as it was: its parts, and what was found out about it."""

    parts: "ModuleParts"
    native: Kernels | None
    packable: bool
    stacks: CompiledModel | None
    """the compiled layers, where every part is compiled"""
    weights: "KnownWeights | None"
    """the weights that these were made of"""
    limit: int | None
    """how many tokens the model can read in a row; None: any number"""

    def still_is(self, native: Kernels | None) -> bool:
        """Whether nothing has changed."""
        same = self.native is native and self.parts.are_the_same()
        return same and (self.weights is None or self.weights.are_the_same())


class KnownWeights:
    """The weights of a model, and what changes when they change."""

    def __init__(self, tensors: list[Tensor], native: Kernels) -> None:
        self._tensors, self._count = tensors, len(tensors)
        self._addresses = [tensor.data_ptr() for tensor in tensors]
        self._sample = native.library.fingerprint
        self._where = (ctypes.c_void_p * self._count)(*self._addresses)
        self._sizes = (ctypes.c_int64 * self._count)(*(tensor.numel() for tensor in tensors))
        self._counted = [tensor for tensor in tensors if not tensor.is_inference()]
        self._versions, self._mark = self._written(), self._read()

    def are_the_same(self) -> bool:
        """Whether they are where they were, and have the same values.

        A sample is read, which finds what was written past torch's count of writes, as through `weight.data`.
        """
        there = [tensor.data_ptr() for tensor in self._tensors] == self._addresses
        return there and self._written() == self._versions and self._read() == self._mark

    def _written(self) -> list[int]:
        return [tensor._version for tensor in self._counted]

    def _read(self) -> int:
        return int(self._sample(self._where, self._sizes, self._count))


_known: "WeakKeyDictionary[nn.Module, KnownModel]" = WeakKeyDictionary()
_lock = Lock()
_OF_TORCH = vars(nn.Module()).keys()
_OF_WEIGHTS = ("_parameters", "_buffers")
_HELD = ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks")


def recognized(model: Writer) -> KnownModel:
    """What is known of the model."""
    native = kernels()
    with _lock:
        known = _known.get(model)
        if known is None or not known.still_is(native):
            known = _known[model] = _examined(model, native)
    return known


def _examined(model: Writer, native: Kernels | None) -> KnownModel:
    parts, limit = ModuleParts(model), positions_limit(model)
    if not packable(model):
        return KnownModel(parts, native, packable=False, stacks=None, weights=None, limit=limit)
    if native is None or not (compilable(model, native.lanes) and its_products_work(model, native)):
        return KnownModel(parts, native, packable=True, stacks=None, weights=None, limit=limit)
    with torch.inference_mode():
        stacks = CompiledModel(native, model)
    weights = KnownWeights([*model.parameters(), *model.buffers()], native)
    return KnownModel(parts, native, packable=True, stacks=stacks, weights=weights, limit=limit)


def positions_limit(model: nn.Module) -> int | None:
    """How many tokens a model can read in a row, as its learned positions allow; None: any number."""
    parts = (part for part in model.modules() if isinstance(part, Position))
    return min((part.limit for part in parts if part.limit is not None), default=None)


class ModuleParts:
    """The modules of a model: their types, attributes, weights, children and hooks; weights by identity.

    Attributes that torch gives to every module are left out, but for those that hold the others. What is compared stays
    in lists, which Python compares by identity first, and quickly.
    """

    def __init__(self, model: nn.Module) -> None:
        own = [vars(module) for module in model.modules()]
        self._inner = list(model.modules())[1:]  # not the model itself, so that it does not live as long as this
        held = [(name in _OF_WEIGHTS, table[name]) for table in own for name in _HELD]
        self._empty = [table for _, table in held if not table]
        self._weights = [table for weighs, table in held if table and weighs]
        self._others = [table for weighs, table in held if table and not weighs]
        self._attributes = [(itemgetter("training", *_HELD, *(table.keys() - _OF_TORCH)), table) for table in own]
        self._own = own
        self._before, self._tensors = self._now(), self._now_of_weights()

    def are_the_same(self) -> bool:
        """Whether every module has the same parts."""
        if any(self._empty):
            return False
        weights = self._now_of_weights()
        if len(weights) != len(self._tensors) or not all(map(is_, weights, self._tensors)):
            return False
        try:
            return self._now() == self._before
        except (RuntimeError, ValueError):  # a tensor or array was replaced, and is not compared by a single number
            return False

    def _now(self) -> list[list[Any]]:
        attributes: list[Any] = [get(table) for get, table in self._attributes]
        others = [[*table.values()] for table in self._others]
        return [[*map(type, self._inner)], [*map(len, self._own)], attributes, others]

    def _now_of_weights(self) -> list[Any]:
        return [*chain.from_iterable([table.values() for table in self._weights])]
