"""The subject of an audit: anybody's attention behind one interface, with what it claims about itself.

An adapter (one file in `adapters/`) is a subject for a kind of target, such as torch's MultiheadAttention. All tensors
have positions on the axis before the last: [batch, positions, width] or [batch, heads, positions, width].
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.audit.example import Example
from regard.base.catalog import Catalog

ADAPTERS = Catalog("regard.audit.adapters")
Inputs = Mapping[str, Tensor]
Keep = Bool[Tensor, "batch query key"]


@dataclass(frozen=True)
class Claims:
    """What an attention says of itself; the laws hold it to that."""

    causal: bool = False
    """a position sees itself and what stands before it, without being told by a mask"""
    positions: Literal["none", "absolute", "relative"] = "none"
    """how it responds to where things stand: not at all, by absolute positions, or by distances alone"""
    masks: Literal["pairs", "padding", "none"] = "pairs"
    """the masks that it takes: any pairs of query and key, padding at the end of a text, or none"""
    deep: bool = False
    """it has several layers, so that a position also sees what the ones that it sees have seen"""
    own: bool = False
    """a position always sees itself, whatever the mask says, as in graph networks with self-loops"""


class Subject(ABC):
    """An attention under audit. `rows` and `columns` name the inputs along the queries and along the keys.

    >>> from regard.audit.auditing import subject_of
    >>> isinstance(subject_of(torch.nn.functional.scaled_dot_product_attention), Subject)
    True
    """

    rows: ClassVar[tuple[str, ...]]
    columns: ClassVar[tuple[str, ...]]
    name: str
    claims: Claims
    precision: torch.dtype = torch.float64
    """the type that it computes in; rounding errors are judged by it"""
    trusted: "Subject | None" = None
    """another implementation for the same inputs, which is right by definition"""

    @property
    def is_self(self) -> bool:
        """Whether queries and keys come from the same input (self-attention)."""
        return self.rows == self.columns

    @abstractmethod
    def inputs(self, example: Example, generator: torch.Generator) -> dict[str, Tensor]:
        """Random inputs of an example's size, in the subject's precision."""

    @abstractmethod
    def __call__(self, inputs: Inputs, keep: Keep | None) -> Float[Tensor, "..."]:
        """The output for each query; `keep` is True where a query may look."""

    def definition(self, inputs: Inputs, keep: Keep | None) -> Tensor | None:
        """The output by the formula, computed with the subject's own weights; None where no formula is known."""
        return None

    def cached(self, inputs: Inputs, cut: int) -> Tensor | None:
        """The output when the first `cut` positions are computed, cached, and followed by the others."""
        return None

    def shifted(self, inputs: Inputs, by: int) -> Tensor | None:
        """The output when all positions are counted from `by` instead of 0."""
        return None

    @abstractmethod
    def to(self, precision: torch.dtype) -> Self:
        """The same attention with weights of another type."""

    def claiming(self, **changes: Any) -> Self:
        """The same attention with other claims."""
        self.claims = replace(self.claims, **changes)
        return self

    def mask(self, example: Example) -> Keep | None:
        """The example's mask, if it has one, with the first key opened to each row that would see nothing."""
        if not example.forbidden or self.claims.masks == "none":
            return None
        keep = example.keep
        seen = keep.tril(example.keys - example.queries) if self.claims.causal else keep
        keep[..., 0] |= ~seen.any(-1)
        return keep

    def sight(self, example: Example, keep: Keep | None) -> Keep:
        """Which input positions may influence which outputs, by the mask and the claims."""
        shape = example.batch, example.queries, example.keys
        seen = torch.ones(shape, dtype=torch.bool) if keep is None else keep
        if self.claims.causal:
            seen = seen.tril(example.keys - example.queries)
        if self.is_self and (self.claims.own or self.claims.deep):
            seen = seen | torch.eye(example.keys, dtype=torch.bool)
        if self.claims.deep:  # through others: the transitive closure
            for _ in range(example.keys.bit_length()):
                seen = (seen.double() @ seen.double()) > 0
        return seen


def at_positions(inputs: Inputs, names: tuple[str, ...], change: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """The inputs with some of them changed."""
    return {name: change(value) if name in names else value for name, value in inputs.items()}


def computes_in_double(call: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    """Whether a function really computes in float64, or rounds to float32 on the way.

    In float64 the changes along small and large steps are proportional; in float32 the small ones, of the size of its
    rounding steps, are not.
    """
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        direction = torch.randn(x.shape, generator=generator).to(x)
        with torch.no_grad():
            near, far = ((call(x + step * direction) - call(x)) / step for step in (1e-7, 1e-4))
        if float((near - far).norm()) > 0.01 * float(far.norm()):
            return False
    return True
