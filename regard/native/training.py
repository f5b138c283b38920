"""Compiled kernels for training on a CPU: the loss over a vocabulary, attention of short sequences, and dropout.

Each saves passes over memory, and each computes in one thread, which is what a lane of training has. They take float32
and bfloat16, and compute in float32. `training_kernels()` gives them, or None where torch computes.
"""

import ctypes
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64, UInt8
from torch import Tensor

from regard.base.errors import RegardError
from regard.native.kernels import kernels
from regard.native.library import Library

_POINTER, _COUNT, _STEPS = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64 * 3


class _Reading(ctypes.Structure):
    """`Reading` of attention.c."""

    _fields_ = (
        *((name, _COUNT) for name in ("sentences", "heads", "shared", "queries", "keys", "width", "value_width")),
        *(("is_short", _COUNT), ("scale", ctypes.c_float)),
        *((name, _POINTER) for name in ("query", "key", "value", "out")),
        *((name, _STEPS) for name in ("query_step", "key_step", "value_step", "out_step")),
        *(("bias", _POINTER), ("bias_step", ctypes.c_int64 * 4), ("log_sum", _POINTER)),
        *((name, _POINTER) for name in ("by_query", "by_key", "by_value", "space")),
    )


class Sides(NamedTuple):
    """Queries, keys and values, whose rows lie in one piece, and what is added to the logits, for all pairs."""

    query: Float[Tensor, "batch heads query width"]
    key: Float[Tensor, "batch key_heads key width"]
    value: Float[Tensor, "batch key_heads key value_width"]
    bias: Float[Tensor, "batch heads query key"] | None
    scale: float


class TrainingKernels(Library):
    """The functions of a compiled library for tensors of which `takes` is true."""

    def loss_and_slopes(
        self,
        logits: Float[Tensor, "rows vocabulary"],
        bias: Float[Tensor, "vocabulary"] | None,
        targets: Int64[Tensor, "rows"],
        share: float,
        by_bias: Float[Tensor, "vocabulary"] | None,
        *,
        learning: bool,
    ) -> tuple[Float[Tensor, "rows"], Float[Tensor, "rows"]]:
        """log Σ exp(logits + bias) of each row, and the logit of its target.

        If learning, softmax - share · onehot(target) replaces the logits, and its sum over the rows is added to
        `by_bias`.
        """
        rows, size = logits.shape
        targets = targets.to(torch.int64).contiguous()
        log_sum, at_target = _floats(2, rows).unbind()
        space = _floats(size + self.lanes)
        wrong: int = self.library.loss_and_slopes(
            *(logits.data_ptr(), _is_short(logits), _pointer(bias), targets.data_ptr(), rows, size),
            *(share, learning, space.data_ptr(), log_sum.data_ptr(), at_target.data_ptr(), _pointer(by_bias)),
        )
        if wrong >= 0:
            raise IndexError(f"the target {int(targets[wrong])} is not in a vocabulary of {size}")
        return log_sum, at_target

    def read(self, sides: Sides) -> tuple[Tensor, Float[Tensor, "batch heads query"]]:
        """softmax(scale · query keyᵀ + bias) value, and log Σ exp of each query's logits."""
        batch, heads, queries, _ = sides.query.shape
        made = sides.query.new_empty(batch, queries, heads, sides.value.shape[3]).transpose(1, 2)
        log_sum = _floats(batch, heads, queries)
        given, space = self._reading(sides, made, log_sum)
        self.library.read_forward(ctypes.byref(given))
        del space
        return made, log_sum

    def read_back(self, sides: Sides, log_sum: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients by query, key and value, given that by what was read."""
        gradient = in_rows(gradient)
        given, space = self._reading(sides, gradient, log_sum)
        made = [side.new_empty(side.transpose(1, 2).shape) for side in sides[:3]]
        given.by_query, given.by_key, given.by_value = (one.data_ptr() for one in made)
        self.library.read_backward(ctypes.byref(given))
        del space
        by_query, by_key, by_value = (one.transpose(1, 2) for one in made)
        return by_query, by_key, by_value

    def drop(self, x: Tensor, random: UInt8[Tensor, "*shape"], dropped: int, scale: float) -> Tensor:
        """x · scale where a random byte is at least `dropped`, else x · 0."""
        x = x.contiguous()
        made = torch.empty_like(x)
        pointers = x.data_ptr(), _is_short(x), random.data_ptr()
        self.library.drop(*pointers, dropped, x.numel(), scale, made.data_ptr())
        return made

    def _reading(self, sides: Sides, out: Tensor, log_sum: Tensor) -> tuple[_Reading, Tensor]:
        """What the library takes, and the space that it points to."""
        query, key, value, bias, scale = sides
        batch, heads, queries, width = query.shape
        given = _Reading(batch, heads, heads // key.shape[1], queries, key.shape[2], width, value.shape[3])
        given.is_short, given.scale = _is_short(query), scale
        given.query, given.key, given.value, given.out = (one.data_ptr() for one in (query, key, value, out))
        for name, one in (("query_step", query), ("key_step", key), ("value_step", value), ("out_step", out)):
            setattr(given, name, _STEPS(*one.stride()[:3]))
        if bias is not None:
            given.bias, given.bias_step = bias.data_ptr(), (ctypes.c_int64 * 4)(*bias.stride())
        given.log_sum = log_sum.data_ptr()
        space = _floats(self.library.space_to_read(ctypes.byref(given)))
        given.space = space.data_ptr()
        return given, space


def takes(*tensors: Tensor | None) -> bool:
    """Whether the kernels compute with these in this thread: it has no other to help it."""
    return torch.get_num_threads() == 1 and are_plain(*tensors)


def are_plain(*tensors: Tensor | None) -> bool:
    """Whether these are float32 or bfloat16 in the CPU's memory, and what is computed with them is not traced.

    Subclasses of tensors, compilers, `torch.func` and forward-mode derivatives have to see torch's own functions.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # type: ignore[attr-defined]
        return False
    if torch._C._functorch.peek_interpreter_stack() is not None or torch.autograd.forward_ad._current_level >= 0:
        return False
    return all(_lies_in_memory(one) for one in tensors if one is not None)


_PLAIN = (Tensor, torch.nn.Parameter)
_DTYPES = (torch.float32, torch.bfloat16)


def _lies_in_memory(x: Tensor) -> bool:
    """Whether the numbers are there, as they are; those of vmap and sparse ones have no storage."""
    known = type(x) in _PLAIN and x.dtype in _DTYPES and x.device.type == "cpu"
    return known and torch._C._has_storage(x) and not x.is_neg()


@cache
def training_kernels() -> TrainingKernels | None:
    """The kernels for this processor; None where torch computes."""
    found = kernels()
    if found is None:
        return None
    try:
        made = TrainingKernels(found.kind)
    except RegardError:
        return None
    return made if training_works(made) else None


def training_works(made: TrainingKernels) -> bool:
    """Whether the kernels compute what torch computes: a compiler may be wrong."""
    with torch.inference_mode(), torch.autocast("cpu", enabled=False):
        x = torch.arange(4 * 70, dtype=torch.float32).mul_(0.37).sin_().mul_(3).view(4, 70)
        targets, slopes = torch.tensor([0, 9, 69, 33]), x.clone()
        log_sum, at_target = made.loss_and_slopes(slopes, None, targets, 0.5, None, learning=True)
        wanted = x.softmax(1) - 0.5 * F.one_hot(targets, 70)
        query, key, value = x[:3].reshape(3, 1, 2, 5, 7).unbind()
        sides = Sides(query, key, value, None, 0.3)
        read, logs = made.read(sides)
        random = torch.arange(280).to(torch.uint8)
        pairs = (
            (slopes, wanted),
            (log_sum - at_target, F.cross_entropy(x, targets, reduction="none")),
            (read, F.scaled_dot_product_attention(query, key, value, scale=sides.scale)),
            (logs, (sides.scale * query @ key.mT).logsumexp(-1)),
            (made.drop(x, random, 100, 2.0), 2 * x * (random >= 100).view(x.shape)),
        )
        near = all(torch.allclose(found, right, atol=1e-5) for found, right in pairs)
        return near and _goes_back(made, sides, logs)


def _goes_back(made: TrainingKernels, sides: Sides, logs: Tensor) -> bool:
    """Whether the gradients of attention are those of the formulas, for slopes that equal the values."""
    query, key, value, _, scale = sides
    weights = (scale * query @ key.mT).softmax(-1)
    by_weights = value @ value.mT
    slopes = scale * weights * (by_weights - (weights * by_weights).sum(-1, keepdim=True))
    wanted = slopes @ key, slopes.mT @ query, weights.mT @ value
    found = made.read_back(sides, logs, value)
    return all(torch.allclose(one, right, atol=1e-4) for one, right in zip(found, wanted, strict=True))


def in_rows(x: Tensor) -> Tensor:
    """The tensor, with neighboring numbers in each row."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _is_short(x: Tensor) -> bool:
    return x.dtype == torch.bfloat16


def _floats(*shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32, device="cpu")


def _pointer(x: Tensor | None) -> int | None:
    return None if x is None else x.data_ptr()
