"""A mask says which keys a query may attend to: a predicate on positions, composed with `&`, `|` and `~`.

(Causal() & Window(128) | GlobalTokens(1))(query_at, key_at)
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, cast

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.attention.part import Part
from regard.attention.sight import Sight, Stretch, look_at_all
from regard.base.catalog import Catalog
from regard.base.errors import ConfigError

MASKS = Catalog("regard.attention.masks")


class Mask(Part):
    """keep[i, j] is True where the query at position i may attend to the key at position j."""

    causal: ClassVar[bool] = False
    """whether this is the causal mask: exactly the keys at or before the query"""
    keys_only: ClassVar[bool] = False
    """whether the mask depends on the key (and the batch), not on the query, as a padding mask does"""

    def __call__(
        self, query_at: Int[Tensor, "*batch query"], key_at: Int[Tensor, "*key_batch key"]
    ) -> Bool[Tensor, "*#batch_heads query key"]:
        """The predicate for every pair; leading axes are (batch, heads), either left out or of size 1 at will."""
        rows, columns = query_at[..., :, None], key_at[..., None, :]
        if rows.dim() + columns.dim() > 4:  # positions with a batch axis: add an axis for the heads
            rows, columns = (side.reshape(-1, 1, *side.shape[-2:]) for side in (rows, columns))
        keep = self.forward(rows, columns)
        return keep.expand(*keep.shape[:-2], query_at.shape[-1], key_at.shape[-1])

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The predicate, element by element; rows and columns broadcast. This is what a new mask writes."""
        raise self.unbuilt()

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        """Which tiles are hidden and which fully visible, from the first and last positions of their blocks."""
        return look_at_all(self, rows, columns)

    def group(self, at: Int[Tensor, "positions"]) -> Int[Tensor, "positions"] | None:
        """A group number for each position; positions of different groups never see each other. None: no groups.

        Numbers are compared within one call alone.
        """
        return None

    def pairs(self) -> Int[Tensor, "2 pairs"] | None:
        """The visible pairs (query, key), each once, where the mask lists them, as that of a graph does; else None."""
        return None

    @property
    def fixed(self) -> bool:
        """Whether the mask is a plain value without tensors, so that results about it can be cached."""
        return type(self).__eq__ is not object.__eq__

    def conjuncts(self) -> tuple["Mask", ...]:
        """The masks that are composed with `&`; only itself if there is none."""
        return (self,)

    def disjuncts(self) -> tuple["Mask", ...]:
        """The masks of which one must say yes; just itself unless composed with `|`."""
        return (self,)

    def parts(self) -> tuple["Mask", ...]:
        """All masks that it is composed of; only itself if it is not."""
        return (self,)

    def spelled(self) -> str:
        """The mask as written in a config, such as `causal & window(size=128)`."""
        name, given = type(self).__module__.rpartition(".")[2], []
        for field in fields(cast(Any, self)):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                raise ConfigError(f"mask: {name} holds a tensor, so it comes with the batch and is not a setting")
            if field.init and value != field.default:
                given.append(f"{field.name}={value!r}")
        return f"{name}({', '.join(given)})" if given else name

    def __and__(self, other: "Mask") -> "Mask":
        return And(self, other) if isinstance(other, Mask) else NotImplemented

    def __or__(self, other: "Mask") -> "Mask":
        return Or(self, other) if isinstance(other, Mask) else NotImplemented

    def __invert__(self) -> "Mask":
        return Not(self)


@dataclass(frozen=True)
class _Composed(Mask):
    """A composition of two masks."""

    left: Mask
    right: Mask
    sign: ClassVar[str]
    """the operator in a config"""

    def spelled(self) -> str:
        return f"({self.left.spelled()} {self.sign} {self.right.spelled()})"

    def parts(self) -> tuple[Mask, ...]:
        return self.left.parts() + self.right.parts()

    @property
    def keys_only(self) -> bool:  # type: ignore[override]
        return self.left.keys_only and self.right.keys_only

    @property
    def fixed(self) -> bool:
        return self.left.fixed and self.right.fixed

    def select(self, heads: Tensor) -> Self:
        return replace(self, left=self.left.select(heads), right=self.right.select(heads))


class And(_Composed):
    """What both masks allow."""

    sign = "&"

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.left.forward(rows, columns) & self.right.forward(rows, columns)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        return self.left.sight(rows, columns) & self.right.sight(rows, columns)

    def group(self, at: Tensor) -> Tensor | None:
        return groups((self.left, self.right), at)

    def conjuncts(self) -> tuple[Mask, ...]:
        return self.left.conjuncts() + self.right.conjuncts()


class Or(_Composed):
    """What at least one mask allows."""

    sign = "|"

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self.left.forward(rows, columns) | self.right.forward(rows, columns)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        return self.left.sight(rows, columns) | self.right.sight(rows, columns)

    def disjuncts(self) -> tuple[Mask, ...]:
        return self.left.disjuncts() + self.right.disjuncts()


@dataclass(frozen=True)
class Not(Mask):
    """What the other mask forbids."""

    mask: Mask

    @property
    def keys_only(self) -> bool:  # type: ignore[override]
        return self.mask.keys_only

    def spelled(self) -> str:
        return f"~{self.mask.spelled()}"

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        return ~self.mask.forward(rows, columns)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        return ~self.mask.sight(rows, columns)

    @property
    def fixed(self) -> bool:
        return self.mask.fixed

    def select(self, heads: Tensor) -> "Not":
        return Not(self.mask.select(heads))


def groups(masks: Iterable[Mask], at: Int[Tensor, "positions"]) -> Int[Tensor, "positions"] | None:
    """The groups of a conjunction of masks: only positions that share a group in all of them see each other."""
    found = [group for mask in masks if (group := mask.group(at)) is not None]
    return torch.unique(torch.stack(found), dim=1, return_inverse=True)[1] if found else None
