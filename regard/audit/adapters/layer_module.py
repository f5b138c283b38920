"""A module of x and a mask: self-attention of one layer, whatever is inside."""

import copy
import inspect
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from regard.audit.example import Example
from regard.audit.subject import Claims, Inputs, Subject, computes_in_double
from regard.base.errors import UsageError

_WIDTHS = ("width", "dim", "embed_dim", "d_model", "hidden_size")


class LayerModule(Subject):
    """`module(x, keep)` with x [batch, positions, width] and keep [batch, positions, positions]."""

    rank: ClassVar[int] = 8
    rows = columns = ("x",)

    def __init__(self, target: Any, width: int | None = None) -> None:
        self.module = self.prepared(target)
        self.name, self.claims = type(target).__name__, Claims()
        self.width = width or self.width_of(target)
        self.precision = self.own_precision()
        self.module.to(self.precision)

    @classmethod
    def suits(cls, target: Any) -> bool:
        """Any module."""
        return isinstance(target, nn.Module)

    def prepared(self, target: Any) -> Any:
        """A copy of the target as it is when used: without dropout, in the precision of the audit."""
        return copy.deepcopy(target).eval().to(self.precision)

    def width_of(self, target: Any) -> int:
        """The width of the inputs, by the usual names."""
        for name in _WIDTHS:
            if isinstance(getattr(target, name, None), int):
                return int(getattr(target, name))
        raise UsageError(f"audit: how wide are the inputs of {type(target).__name__}? Give width=…, or --width")

    def own_precision(self) -> torch.dtype:
        """float32 if the module rounds to it on the way, whatever its inputs are."""
        example = Example(1, 3, 3)
        x = self.inputs(example, example.generator())["x"]
        double = computes_in_double(lambda x: self({"x": x}, None), x)
        return torch.float64 if double else torch.float32

    def inputs(self, example: Example, generator: torch.Generator) -> dict[str, Tensor]:
        return {"x": torch.randn(example.batch, example.keys, self.width, generator=generator).to(self.precision)}

    def __call__(self, inputs: Inputs, keep: Tensor | None) -> Tensor:
        return self.only_output(self.module(inputs["x"]) if keep is None else self.masked(inputs["x"], keep))

    def masked(self, x: Tensor, keep: Tensor) -> Any:
        """Call the module with a mask: by the name that it has for it, or as the second argument."""
        known = inspect.signature(self.module.forward).parameters
        name = next((name for name in ("keep", "mask", "attn_mask", "attention_mask") if name in known), None)
        return self.module(x, keep) if name is None else self.module(x, **{name: keep})

    def only_output(self, made: Any) -> Tensor:
        """The output alone, where a module returns more."""
        output: Tensor = made[0] if isinstance(made, tuple) else made
        return output

    def to(self, precision: torch.dtype) -> Self:
        other = copy.copy(self)
        other.module, other.precision = copy.deepcopy(self.module).to(precision), precision
        return other
