"""Checks of a model file that anybody may have written, before anything is built from it.

The metadata must have the types that it is written with. The model is then built on the meta device, which allocates
nothing, and is given up as soon as it has more tensors or more elements than the file: so neither memory nor time is
out of proportion to the size of the file.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks
from torch.overrides import TorchFunctionMode

from regard.base.errors import ConfigError, RegardError

_Built = TypeVar("_Built")
_MOST_SIZE = 2**31 - 1
_SLACK = 16  # tensors that are registered and replaced while a model is built
_BUFFERS = 2**24  # elements of tables that are computed, not stored
_DRAWS = (Tensor.normal_, Tensor.uniform_, Tensor.exponential_, Tensor.bernoulli_)
_INIT = nn.init.normal_.__module__


def check_parts(name: str, parts: Mapping[str, Any], tied: Any, tensors: Mapping[str, Tensor]) -> None:
    """Raise an error if a part of a model file's metadata is not of its type."""
    texts, numbers = _all_of(str), _all_of(int)
    wanted: dict[str, tuple[str, Callable[[Any], bool]]] = {
        "config": ("a table", lambda part: isinstance(part, dict)),
        "task": ("a text", lambda part: isinstance(part, str)),
        "sizes": (f"sizes from 1 to {_MOST_SIZE}", lambda part: numbers(part) and _in_range(part.values())),
        "tokenizers": ("texts by side", texts),
        "extras": ("a table", lambda part: isinstance(part, dict)),
    }
    for part, (what, fits) in wanted.items():
        if not fits(parts[part]):
            raise RegardError(f"{name}: the metadata of the model cannot be read: its {part} must be {what}")
    for table in ("model", "decoding", "data", "training"):
        if not isinstance(parts["config"].get(table), dict | None):
            raise RegardError(f"{name}: the metadata of the model cannot be read: its {table} must be a table")
    if not texts(tied) or any(first not in tensors or again in tensors for again, first in tied.items()):
        raise RegardError(f"{name}: the metadata of the model cannot be read: it ties tensors that are not there")


def build_checked(name: str, build: Callable[[], _Built], weights: Mapping[str, Tensor]) -> _Built:
    """Build a model whose weights are in a file; one that the file's tensors do not bear out is never allocated."""
    try:
        with torch.device("meta"), _Undrawn(), _no_larger_than(name, weights):
            tried = build()
    except NotImplementedError:  # some operation knows no meta device; the limits hold below as well
        pass
    else:
        check_fits(tried, weights, name)
    with _no_larger_than(name, weights):
        return build()


def check_fits(model: Any, weights: Mapping[str, Tensor], name: str) -> None:
    """Raise an error for the first difference between a model's tensors and the given ones: name, shape or type."""
    own = model.state_dict()
    for missing in sorted(own.keys() - weights.keys()):
        raise RegardError(f"{name}: has no tensor '{missing}', which the model needs")
    for surplus in sorted(weights.keys() - own.keys()):
        raise RegardError(f"{name}: has a tensor '{surplus}', which the model does not know")
    for key, tensor in own.items():
        if tensor.shape != weights[key].shape:
            found, wanted = tuple(weights[key].shape), tuple(tensor.shape)
            raise RegardError(f"{name}: the tensor '{key}' has shape {found}, but the model needs {wanted}")
        kind = weights[key].dtype
        if kind != tensor.dtype and not (kind.is_floating_point and tensor.is_floating_point()):
            raise RegardError(f"{name}: the tensor '{key}' is of type {_type(kind)}, not {_type(tensor.dtype)}")


class _Undrawn(TorchFunctionMode):
    """Inside, no random numbers are drawn: on the meta device, torch would load its compiler for it (a second)."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func in _DRAWS or getattr(func, "__module__", None) == _INIT:
            return args[0] if args else given["tensor"]
        return func(*args, **given)


@contextmanager
def _no_larger_than(name: str, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Inside, modules with more parameters than these weights raise an error; any failure is one sentence."""
    elements = sum(tensor.numel() for tensor in weights.values())
    larger = RegardError(f"{name}: its settings describe a larger model than its tensors are")
    tables = RegardError(f"{name}: its settings describe larger tables than a model of this size has")
    try:
        with bounded(2 * len(weights) + _SLACK, 2 * elements, larger), _few_tables(_BUFFERS + 4 * elements, tables):
            yield
    except (RegardError, NotImplementedError) as error:
        if isinstance(error, ConfigError):
            raise RegardError(f"{name}: its settings cannot be used: {error}") from error
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise RegardError(f"{name}: no model can be built from its settings: {_first_line(error)}") from error


@contextmanager
def bounded(tensors: int, elements: int, refusal: RegardError) -> Iterator[None]:
    """Inside, `refusal` is raised as soon as modules have registered more parameters, or more elements, than these."""
    seen: dict[int, Tensor] = {}
    count = 0

    def registered(_: nn.Module, __: str, tensor: Any) -> None:
        nonlocal count
        if isinstance(tensor, Tensor) and id(tensor) not in seen:
            seen[id(tensor)] = tensor
            count += tensor.numel()
            if count > elements or len(seen) > tensors:
                raise refusal

    handle = hooks.register_module_parameter_registration_hook(registered)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def _few_tables(elements: int, refusal: RegardError) -> Iterator[None]:
    count = 0

    def registered(_: nn.Module, __: str, tensor: Any) -> None:
        nonlocal count
        count += tensor.numel() if isinstance(tensor, Tensor) else 0
        if count > elements:
            raise refusal

    handle = hooks.register_module_buffer_registration_hook(registered)
    try:
        yield
    finally:
        handle.remove()


def _all_of(kind: type) -> Callable[[Any], bool]:
    def fits(part: Any) -> bool:
        return isinstance(part, dict) and all(isinstance(value, kind) for value in part.values())

    return fits


def _in_range(sizes: Any) -> bool:
    return all(1 <= size <= _MOST_SIZE and not isinstance(size, bool) for size in sizes)


def _type(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
