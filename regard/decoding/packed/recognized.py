"""What is known of a model from the search before, so that it is not examined again while it is the same.

A model is the same while every module has the same attributes, the very same objects, and no weight was written to.
"""

import ctypes
from dataclasses import dataclass
from operator import is_
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from regard.decoding.packed.acceptance import packable
from regard.decoding.packed.stacks import CompiledModel, compilable
from regard.models.writer import Writer
from regard.native.kernels import Kernels, kernels


@dataclass(frozen=True)
class Recognized:
    """A model as it was: its parts and weights, and what was found out about it."""

    parts: list[Any]
    tensors: list[Tensor]
    marks: tuple[Any, ...]
    """what tells whether weights have changed"""
    native: Kernels | None
    packable: bool
    stacks: CompiledModel | None
    """the compiled layers, where every part is compiled"""

    def still_is(self, model: nn.Module, native: Kernels | None) -> bool:
        """Whether nothing has changed."""
        now = contents(model)
        if self.native is not native or len(now) != len(self.parts) or not all(map(is_, now, self.parts)):
            return False
        return self.stacks is None or marks_of(self.tensors, native) == self.marks


_known: "WeakKeyDictionary[nn.Module, Recognized]" = WeakKeyDictionary()
_lock = Lock()


def recognized(model: Writer) -> Recognized:
    """What is known of the model."""
    native = kernels()
    with _lock:
        known = _known.get(model)
        if known is None or not known.still_is(model, native):
            known = _known[model] = _examined(model, native)
    return known


def _examined(model: Writer, native: Kernels | None) -> Recognized:
    usual, stacks = packable(model), None
    tensors = [*model.parameters(), *model.buffers()]
    if native is not None and packable(model) and compilable(model, native.lanes):
        with torch.inference_mode():
            stacks = CompiledModel(native, model)
    marks = () if stacks is None else marks_of(tensors, native)
    return Recognized(contents(model), tensors, marks, native, usual, stacks)


def contents(model: nn.Module) -> list[Any]:
    """The types, attributes, weights and children of all modules, and how many hooks they have."""
    found: list[Any] = []
    waiting = [model]
    while waiting:
        module = waiting.pop()
        own = vars(module)
        children = own["_modules"].values()
        found += (type(module), *own.values(), *own["_parameters"].values(), *own["_buffers"].values(), *children)
        found += (len(own["_forward_hooks"]), len(own["_forward_pre_hooks"]))
        waiting += [child for child in children if child is not None]
    return found


def marks_of(tensors: list[Tensor], native: Kernels | None) -> tuple[Any, ...]:
    """What changes when weights change: where they are, how often they were written to, and a sample of them.

    The sample finds what was written past torch's count of writes, as through `weight.data`.
    """
    addresses = [tensor.data_ptr() for tensor in tensors]
    versions = [0 if tensor.is_inference() else tensor._version for tensor in tensors]
    if native is None:
        return addresses, versions
    sizes = [tensor.numel() for tensor in tensors]
    count = len(tensors)
    sample = native.library.fingerprint((ctypes.c_void_p * count)(*addresses), (ctypes.c_int64 * count)(*sizes), count)
    return addresses, versions, sample
