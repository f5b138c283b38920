"""A mixer is the branch of a layer that lets positions see each other: attention, convolution, recurrence.

Mixer(…) is a value: what the branch is made of; one file each in `mixers/`. `build` makes the module, which offers

    forward(x, keep=…, at=…)          all positions at once, as in training
    start()                           what is known before the first position
    advance(x, before)                the next positions, and what is known after them

so that every model decodes step by step, whatever its layers are made of. The state is a value with `reorder`: the KV
cache of an attention, the last inputs of a convolution, the hidden state of a recurrent network.
"""

from abc import ABC, abstractmethod
from typing import Any, Literal, Protocol, Self, runtime_checkable

from jaxtyping import Bool, Int
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.part import positions_of
from regard.base.catalog import Catalog
from regard.base.errors import CombinationError

MIXERS = Catalog("regard.layers.mixers")

View = Literal["both", "past"]
"""whether a position sees what is on both sides of it, or what came before it alone"""


@runtime_checkable
class MixerState(Protocol):
    """What a mixer knows of the positions before."""

    def reorder(self, batch: Int[Tensor, "picked"]) -> Self:
        """The state with its sequences picked anew, as beam search does."""


@runtime_checkable
class Mixing(Protocol):
    """What a built mixer offers."""

    def __call__(self, x: Tensor, *, keep: Tensor | Mask | None = None, at: Tensor | None = None) -> Tensor:
        """All positions at once; `keep` narrows what may be seen, `at` says where the positions stand."""

    def start(self) -> MixerState:
        """The state before the first position."""

    def advance(self, x: Tensor, memory: Any) -> tuple[Tensor, MixerState]:
        """The next positions, and the state after them."""


class Mixer(ABC):
    """What a mixing branch other than attention is made of."""

    @abstractmethod
    def build(self, width: int) -> Any:
        """The module for inputs of `width`, whose outputs have the same width."""

    @abstractmethod
    def causal(self) -> Self:
        """The same for a decoder: no position sees what comes after it."""

    def in_layer(self, at: int) -> Self:
        """The same as it is in the layer of this number, counted from 0."""
        return self


def kept_inputs(keep: Tensor | Mask | None, x: Tensor, name: str) -> Bool[Tensor, "batch length"] | None:
    """Which inputs may be seen at all: for a mixer that has no pairs, a mask hides whole positions (padding)."""
    if isinstance(keep, Mask):
        at = positions_of(x.shape[1], x)
        keep = keep(at[:1], at) if all(part.keys_only for part in keep.conjuncts()) else keep(at, at)
    if keep is None:
        return None
    if any(size != 1 for size in keep.shape[-3:-1]):
        raise CombinationError(
            f"{name}: it has no pairs of positions, so it goes with masks that hide whole positions, such as padding, "
            "and not with masks on pairs; use attention as the mixer"
        )
    return keep.reshape(-1, keep.shape[-1]).expand(x.shape[0], x.shape[1])


def check_past(name: str, view: View) -> None:
    """Only a mixer that sees nothing ahead can go step by step."""
    if view == "both":
        raise CombinationError(f"{name}: it sees both sides, so it cannot go step by step; use view='past'")
