"""A mixer is the branch of a layer that mixes positions: attention, convolution, recurrence.

Mixer(…) is a value: the branch's settings; one file each in `mixers/`. `build` makes the module, which offers

    forward(x, keep=…, at=…)          all positions at once, as in training
    start()                           the state before the first position
    advance(x, before)                the next positions, and the state after them

so that every model decodes step by step, whatever its layers. The state is a value with `reorder`: the KV cache of
attention, the last inputs of a convolution, the hidden state of a recurrent network.
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
"""both: a position sees both sides (bidirectional); past: only what came before it (causal)"""


@runtime_checkable
class MixerState(Protocol):
    """The state of a mixer between decoding steps."""

    def reorder(self, batch: Int[Tensor, "picked"]) -> Self:
        """Select sequences of the batch, in the given order, as beam search does."""


@runtime_checkable
class Mixing(Protocol):
    """The interface of a built mixer."""

    def __call__(self, x: Tensor, *, keep: Tensor | Mask | None = None, at: Tensor | None = None) -> Tensor:
        """All positions at once; `keep` is a mask, `at` are the position indices."""

    def start(self) -> MixerState:
        """The state before the first position."""

    def advance(self, x: Tensor, memory: Any) -> tuple[Tensor, MixerState]:
        """The next positions, and the state after them."""


class Mixer(ABC):
    """Settings of a mixing branch."""

    @abstractmethod
    def build(self, width: int) -> Any:
        """Build the module for inputs of `width`; outputs have the same width."""

    @abstractmethod
    def causal(self) -> Self:
        """The causal version for a decoder: no position sees what comes after it."""

    def in_layer(self, at: int) -> Self:
        """The version for the layer of this number, counted from 0."""
        return self


def kept_inputs(keep: Tensor | Mask | None, x: Tensor, name: str) -> Bool[Tensor, "batch length"] | None:
    """The padding mask of a mixer without pairs of positions: which inputs may be seen."""
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
    """Raise an error unless the mixer is causal, as decoding step by step needs."""
    if view == "both":
        raise CombinationError(f"{name}: it is bidirectional, so it cannot decode step by step; use view='past'")
