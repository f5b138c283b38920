"""The arguments of one call of attention: tensors, parts and positions, checked once for all backends."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, reduce, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.part import Part, positions_of
from regard.attention.position import Bias, Position
from regard.attention.score import Score
from regard.base.errors import CombinationError, ShapeError

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Call:
    """The checked arguments of `attend`. Keys and values may have fewer heads than queries (grouped-query attention).

    A query may attend to a key where both `mask` and `keep` allow it: usually the layer's mask, such as the causal
    mask, and the batch's padding mask. A query that may attend to nothing reads zeros.
    """

    query: Float[Tensor, "batch heads query width"]
    key: Float[Tensor, "batch key_heads key key_width"]
    value: Float[Tensor, "batch key_heads key value_width"]
    _: KW_ONLY
    score: Score
    normalizer: Normalizer
    mask: Mask | None = None
    keep: Bool[Tensor, "..."] | Mask | None = None
    """True where a query may attend: a mask, or a tensor that broadcasts to [batch, heads, query, key]"""
    bias: Float[Tensor, "..."] | Bias | None = None
    """what is added to the logits"""
    query_at: Int[Tensor, "*query_batch query"] | None = None
    """the positions of the queries; by default 0, 1, 2, …"""
    key_at: Int[Tensor, "*key_batch key"] | None = None
    """the positions of the keys; by default 0, 1, 2, …"""
    dropout: float = 0.0
    """dropout of the attention weights"""
    backend: str | Part | None = None
    """by default the fastest that supports the call"""
    weights: bool = False
    """whether the attention weights are returned too, whichever backend computes the output"""

    def __post_init__(self) -> None:
        if torch.is_autocast_enabled(self.query.device.type):
            self._make_alike()
        _check_shapes(self)
        _check_parts(self)

    @property
    def in_order(self) -> bool:
        """Whether queries and keys are at positions 0, 1, 2, …"""
        return self.query_at is None and self.key_at is None

    @cached_property
    def places(self) -> tuple[Tensor, Tensor]:
        """The positions of the queries and of the keys."""
        query_at = positions_of(self.query.shape[2], self.query) if self.query_at is None else self.query_at
        key_at = positions_of(self.key.shape[2], self.key) if self.key_at is None else self.key_at
        return query_at, key_at

    @cached_property
    def masks(self) -> tuple[Mask, ...]:
        """The masks that are combined with `&`; beside them, `keep` may be a tensor."""
        given = (self.mask, None if isinstance(self.keep, Tensor) else self.keep)
        return tuple(part for mask in given if mask is not None for part in mask.conjuncts())

    @cached_property
    def notes(self) -> dict[Any, Any]:
        """A cache for what a backend computed about the call while it was chosen."""
        return {}

    @property
    def groups(self) -> int:
        """How many query heads share a key head."""
        return self.query.shape[1] // self.key.shape[1]

    @cached_property
    def keep_tensor(self) -> Tensor | None:
        """All masks as one tensor over pairs."""
        together = self.keep if isinstance(self.keep, Tensor) else None
        for mask in self.masks:
            keep = mask(*self.places)
            check_broadcast("keep", keep, self.query, self.key)
            together = keep if together is None else together & keep
        return together

    def bias_tensor(self) -> Tensor | None:
        """The bias as a tensor over pairs."""
        if isinstance(self.bias, Bias):
            key = spread(self.key, self.groups)
            return self.bias(self.query, key, *self.places)
        return self.bias

    def _make_alike(self) -> None:
        """In mixed precision some layers give bfloat16 and others float32: all sides get the wider of both."""
        sides = {"query": self.query, "key": self.key, "value": self.value}
        widest = reduce(torch.promote_types, (side.dtype for side in sides.values()))
        for name, side in sides.items():
            object.__setattr__(self, name, side.to(widest))

    def in_float32(self) -> "Call":
        """The call with queries, keys and values in float32."""
        return replace(self, query=self.query.float(), key=self.key.float(), value=self.value.float())

    def rows(self, chosen: Tensor | slice) -> "Call":
        """The call restricted to some queries."""
        return replace(
            self,
            query=self.query[:, :, chosen],
            query_at=self.places[0][..., chosen],
            keep=_cut(self.keep, -2, chosen),
            bias=_cut(self.bias, -2, chosen),
        )

    def columns(self, chosen: Tensor | slice) -> "Call":
        """The call restricted to some keys."""
        return replace(
            self,
            key=self.key[:, :, chosen],
            value=self.value[:, :, chosen],
            key_at=self.places[1][..., chosen],
            keep=_cut(self.keep, -1, chosen),
            bias=_cut(self.bias, -1, chosen),
        )

    def heads(self, chosen: Tensor) -> "Call":
        """The call restricted to some attention heads."""
        shared = chosen // self.groups
        bias = self.bias.select(chosen) if isinstance(self.bias, Bias) else _cut(self.bias, -3, chosen)
        return replace(
            self,
            query=self.query[:, chosen],
            key=self.key[:, shared],
            value=self.value[:, shared],
            score=self.score.select(chosen),
            mask=None if self.mask is None else self.mask.select(chosen),
            keep=self.keep.select(chosen) if isinstance(self.keep, Mask) else _cut(self.keep, -3, chosen),
            bias=bias,
        )


def spread(tensor: Tensor, groups: int) -> Tensor:
    """Key or value heads repeated so that each query head has one of its own."""
    return tensor if groups == 1 else tensor.repeat_interleave(groups, dim=1)


def _cut(part: Any, axis: int, chosen: Tensor | slice) -> Any:
    """The chosen entries of a tensor's axis, unless it is a part, or broadcasts along that axis."""
    if not isinstance(part, Tensor) or part.dim() < -axis or part.shape[axis] == 1:
        return part
    where = (slice(None),) * (part.dim() + axis)
    return part[(*where, chosen)]


def arguments_of(
    made: Callable[Arguments, Made],
) -> Callable[[Callable[[Made], Answer]], Callable[Arguments, Answer]]:
    """Decorate a function of a value so that it takes the arguments which that value is made from."""

    def decorate(function: Callable[[Made], Answer]) -> Callable[Arguments, Answer]:
        @wraps(function)
        def called(*given: Arguments.args, **named: Arguments.kwargs) -> Answer:
            return function(made(*given, **named))

        called.__signature__ = signature(made)  # type: ignore[attr-defined]
        return called

    return decorate


def _check_shapes(call: Call) -> None:
    query, key, value = call.query, call.key, call.value
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            shape = list(tensor.shape)
            raise ShapeError(f"attend: {name} must be [batch, heads, length, width], but has the shape {shape}")
        if tensor.dtype != query.dtype:
            raise ShapeError(f"attend: {name} is {tensor.dtype}, but query is {query.dtype}; they must be alike")
    if key.shape[:3] != value.shape[:3]:
        ours, theirs = list(key.shape[:3]), list(value.shape[:3])
        raise ShapeError(f"attend: key and value must share [batch, heads, length], but have {ours} and {theirs}")
    if query.shape[0] != key.shape[0]:
        raise ShapeError(f"attend: query has a batch of {query.shape[0]}, but key has one of {key.shape[0]}")
    if key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ShapeError(
            f"attend: the query's heads ({query.shape[1]}) must be a multiple of the key's heads ({key.shape[1]})"
        )
    if call.score.equal_widths and query.shape[3] != key.shape[3]:
        name = type(call.score).__name__
        raise ShapeError(
            f"attend: query has width {query.shape[3]} and key has width {key.shape[3]}; {name} needs equal widths"
        )
    for name, at, side in (("query_at", call.query_at, query), ("key_at", call.key_at, key)):
        batch, length = query.shape[0], side.shape[2]
        if at is not None and tuple(at.shape) not in ((length,), (1, length), (batch, length)):
            raise ShapeError(
                f"attend: {name} must be a position for each, [{length}] or [{batch}, {length}], "
                f"but has the shape {list(at.shape)}"
            )


def _check_parts(call: Call) -> None:
    query, key, score, normalizer, keep, bias = call.query, call.key, call.score, call.normalizer, call.keep, call.bias
    if isinstance(keep, Tensor):
        check_keep(keep, query, key)
    if isinstance(bias, Tensor):
        check_broadcast("bias", bias, query, key)
    elif isinstance(bias, Position) and not isinstance(bias, Bias):
        name = type(bias).__name__
        raise CombinationError(
            f"attend: {name} is no bias on the logits: call its place() on queries and keys, "
            f"or use Attention(positions={name}(…))"
        )
    if normalizer.proportional and not score.positive:
        raise CombinationError(
            f"attend: {type(normalizer).__name__} divides by the sum of the logits, so it needs a score that is "
            f"never negative, such as Kernel(); {type(score).__name__} can be negative"
        )
    if normalizer.proportional and bias is not None:
        raise CombinationError(
            f"attend: {type(normalizer).__name__} does not combine with a bias on the logits, "
            "which could make them negative; place the positions on queries and keys instead"
        )


def check_keep(keep: Tensor, query: Tensor, key: Tensor) -> None:
    """Raise an error unless a mask tensor is bool and broadcasts to the pairs."""
    if keep.dtype != torch.bool:
        raise ShapeError(
            f"attend: keep must be bool, True where a query may look, but is {keep.dtype}; "
            "numbers to be added to the logits are passed as bias"
        )
    check_broadcast("keep", keep, query, key)


def check_broadcast(name: str, tensor: Tensor, query: Tensor, key: Tensor) -> None:
    """Raise an error unless the tensor broadcasts to the pairs."""
    full = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    ends = zip(reversed(tensor.shape), reversed(full), strict=False)
    if tensor.dim() > 4 or any(size not in (1, wanted) for size, wanted in ends):
        raise ShapeError(
            f"attend: {name} has the shape {list(tensor.shape)}, "
            f"which does not broadcast to [batch, heads, query, key] = {list(full)}"
        )
