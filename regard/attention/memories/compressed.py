"""key'(s) = Σ_t E(s, t) key(t),  value'(s) = Σ_t F(s, t) value(t): a fixed number of slots, learned sums over all

Wang et al., Linformer, 2020, https://arxiv.org/abs/2006.04768. Pairs may also be written later, since they are added
to the sums; reading costs the same at any length.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
from torch import Tensor, nn

from regard.attention.memory import Memory, MixedMemory, nothing_written
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.base.errors import ShapeError, check_at_least, check_one_of

SHARING = ("none", "heads", "pairs", "layers")


@dataclass(frozen=True)
class Compressed(MixedMemory):
    """Compresses up to `length` keys and values into `slots` learned combinations."""

    slots: int
    """the number of learned combinations that are kept"""
    length: int = 1024
    """the longest text that can be compressed"""
    sharing: Literal["none", "heads", "pairs", "layers"] = "heads"
    """none: each head has its own E and F; heads: one E and one F for all heads of a layer (headwise); pairs: keys and
    values share one as well, E = F (key-value); layers: so do all layers of an encoder (layerwise)"""

    def __post_init__(self) -> None:
        check_at_least("compressed", 1, slots=self.slots, length=self.length)
        check_one_of("compressed", SHARING, sharing=self.sharing)

    def build(self, sizes: Sizes) -> "BlendWeights":
        return BlendWeights(self, sizes.key_heads)


class BlendWeights(nn.Module, MixedMemory):
    """E and F, [slots, length], or [heads, slots, length] where each head has its own."""

    def __init__(self, design: Compressed, heads: int) -> None:
        super().__init__()
        self.across_layers = design.sharing == "layers"
        shape = (design.slots, design.length) if design.sharing != "none" else (heads, design.slots, design.length)
        self.keys = nn.Parameter(torch.empty(shape).normal_(std=design.slots**-0.5))
        separate = design.sharing in ("none", "heads")
        self.values = nn.Parameter(torch.empty(shape).normal_(std=design.slots**-0.5)) if separate else None

    def start(self, reading: Reading) -> Memory:
        return _Compressed(self.keys, self.keys if self.values is None else self.values)


@dataclass(frozen=True, eq=False)
class _Compressed(MixedMemory):
    key_weights: Tensor
    value_weights: Tensor
    length: int = 0
    key: Tensor | None = None
    value: Tensor | None = None

    def extend(self, key: Tensor, value: Tensor, keep: Tensor | None = None) -> Self:
        stop, room = self.length + key.shape[2], self.key_weights.shape[-1]
        if stop > room:
            raise ShapeError(
                f"compressed memory: {stop} pairs were written, but it was made for length={room}; "
                f"{stop} or more would be right"
            )
        if keep is not None:
            key, value = (side.masked_fill(~keep[:, None, :, None], 0.0) for side in (key, value))
        keys, values = (
            _blend(weights[..., self.length : stop], side)
            for weights, side in ((self.key_weights, key), (self.value_weights, value))
        )
        if self.key is not None and self.value is not None:
            keys, values = self.key + keys, self.value + values
        return replace(self, length=stop, key=keys, value=values)

    def blended(self) -> tuple[Tensor, Tensor]:
        if self.key is None or self.value is None:
            raise nothing_written(self)
        return self.key, self.value

    def reorder(self, batch: Tensor) -> Self:
        key, value = (None if side is None else side[batch] for side in (self.key, self.value))
        return replace(self, key=key, value=value)


def _blend(weights: Tensor, side: Tensor) -> Tensor:
    """The slots of each head, [batch, heads, slots, width]; weights that heads share take one product for all."""
    if weights.dim() == 3:
        return weights @ side
    return (weights @ side.transpose(1, 2).flatten(2)).unflatten(2, (side.shape[1], -1)).transpose(1, 2)
