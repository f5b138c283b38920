"""A function of query, key, value and a mask, such as torch's `scaled_dot_product_attention`.

softmax(query keyᵀ / √width, keep) value
"""

import copy
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.normalizers.softmax import Softmax
from regard.attention.scores.scaled_dot import ScaledDot
from regard.audit.example import Example
from regard.audit.subject import Claims, Inputs, Subject

_HEADS, _WIDTH = 2, 4
_MASKS = ("attn_mask", "keep", "mask", "attention_mask")


class AttentionFunction(Subject):
    """An attention of heads that are projected already: [batch, heads, positions, width]."""

    rank: ClassVar[int] = 9
    rows, columns = ("query",), ("key", "value")

    def __init__(self, target: Callable[..., Any], width: int | None = None) -> None:
        self.target, self.width, self.claims = target, width or _WIDTH, Claims()
        self.name = getattr(target, "__name__", type(target).__name__)
        self._mask = _mask_name(target)

    @classmethod
    def suits(cls, target: Any) -> bool:
        """Any function."""
        return callable(target) and not isinstance(target, nn.Module | type)

    def inputs(self, example: Example, generator: torch.Generator) -> dict[str, Tensor]:
        lengths = {"query": example.queries, "key": example.keys, "value": example.keys}
        return {
            name: torch.randn(example.batch, _HEADS, length, self.width, generator=generator).to(self.precision)
            for name, length in lengths.items()
        }

    def __call__(self, inputs: Inputs, keep: Tensor | None) -> Tensor:
        mask = None if keep is None else keep[:, None]
        given = inputs["query"], inputs["key"], inputs["value"]
        output = self.target(*given, mask) if self._mask is None else self.target(*given, **{self._mask: mask})
        return output[0] if isinstance(output, tuple) else output

    def definition(self, inputs: Inputs, keep: Tensor | None) -> Tensor | None:
        if self.claims.positions != "none":
            return None
        shape = inputs["query"].shape[-2], inputs["key"].shape[-2]
        seen = torch.ones(1, *shape, dtype=torch.bool) if keep is None else keep
        if self.claims.causal:
            seen = seen.tril(shape[1] - shape[0])
        query, key, value = (inputs[name].double() for name in ("query", "key", "value"))
        return define(Call(query, key, value, score=ScaledDot(), normalizer=Softmax(), keep=seen[:, None])).output

    def to(self, precision: torch.dtype) -> Self:
        other = copy.copy(self)
        other.precision = precision
        return other


def _mask_name(target: Callable[..., Any]) -> str | None:
    """The name under which the function takes its mask; None: the fourth argument."""
    try:
        known = inspect.signature(target).parameters
    except (TypeError, ValueError):  # a function in C, such as torch's
        return "attn_mask" if "attn_mask" in (target.__doc__ or "") else None
    return next((name for name in _MASKS if name in known), None)
