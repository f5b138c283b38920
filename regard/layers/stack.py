"""A stack of layers: an encoder, or a decoder that may attend to one."""

from collections.abc import Callable, Sequence
from typing import Literal, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.attention.part import positions_of
from regard.base.errors import ConfigError
from regard.layers.block import Block
from regard.layers.mixer import MixerState
from regard.layers.recompute import recomputed, worth_recomputing

Recompute = Literal["nothing", "layers"]


class Stack(nn.Module):
    """Layers one after the other; with pre-norm layers, a final norm follows."""

    recompute: Recompute = "nothing"
    """activation checkpointing: what is computed again in the backward pass instead of being stored"""

    def __init__(self, layers: Sequence[Block]) -> None:
        super().__init__()
        if not layers:
            raise ConfigError("stack: there must be at least 1 layer")
        self.layers = nn.ModuleList(layers)
        last = layers[-1]
        self.norm = last.residual.build(last.output_width) if last.residual.place == "before" else nn.Identity()

    @classmethod
    def of(cls, count: int, make: Callable[[int], Block]) -> Self:
        """A stack of `count` layers, each made for its number, counted from 0."""
        return cls([make(at) for at in range(count)])

    @property
    def blocks(self) -> list[Block]:
        """The layers, by their type."""
        return [layer for layer in self.layers if isinstance(layer, Block)]

    def forward(
        self,
        x: Float[Tensor, "batch length width"],
        *,
        keep: Bool[Tensor, "..."] | Mask | None = None,
        source: Float[Tensor, "batch source source_width"] | None = None,
        source_keep: Bool[Tensor, "..."] | Mask | None = None,
        at: Int[Tensor, "*positions length"] | None = None,
    ) -> Float[Tensor, "batch length output_width"]:
        """All layers over whole sequences."""
        for layer in self.blocks:
            beside = {"keep": keep, "source": source, "source_keep": source_keep, "at": at}
            again = self.recompute == "layers" and worth_recomputing(layer)
            x = recomputed(layer, x, **beside) if again else layer(x, **beside)
        normed: Tensor = self.norm(x)
        return normed

    def recall(
        self, x: Float[Tensor, "batch length width"], before: Sequence[Float[Tensor, "batch earlier width"]] = ()
    ) -> tuple[Float[Tensor, "batch length width"], tuple[Float[Tensor, "batch seen width"], ...]]:
        """All layers over a segment whose attention also reads the layers' inputs `before` it; and the inputs of each.

        Earlier inputs are followed by those of the segment in what is returned.
        """
        seen = []
        for number, layer in enumerate(self.blocks):
            inputs = torch.cat([before[number], x], dim=1) if before else x
            seen.append(inputs)
            inputs_at = positions_of(inputs.shape[1], x)
            x = layer.look(x, inputs, at=inputs_at[inputs.shape[1] - x.shape[1] :], inputs_at=inputs_at)
        return self.norm(x), tuple(seen)

    def inputs(self, x: Float[Tensor, "batch length width"]) -> tuple[Float[Tensor, "batch length width"], ...]:
        """The inputs of each layer over a segment that only is to be recalled; the last layer is not computed."""
        seen, at = [x], positions_of(x.shape[1], x)
        for layer in self.blocks[:-1]:
            seen.append(layer.look(seen[-1], seen[-1], at=at, inputs_at=at))
        return tuple(seen)

    def start(self) -> tuple[MixerState, ...]:
        """The state of each layer's mixer before the first position, such as an empty KV cache."""
        return tuple(layer.mixer.start() for layer in self.blocks)

    def remember(
        self, source: Float[Tensor, "batch source source_width"], keep: Bool[Tensor, "batch source"] | None = None
    ) -> tuple[Memory, ...]:
        """Each layer's keys and values of the source, projected once for all steps to come."""
        return tuple(layer.cross.remember(source, keep) for layer in self.blocks if layer.cross is not None)

    def advance(
        self,
        x: Float[Tensor, "rows length width"],
        memories: tuple[MixerState, ...],
        sources: tuple[Memory, ...] = (),
        sentences: int = 1,
    ) -> tuple[Float[Tensor, "rows length output_width"], tuple[MixerState, ...]]:
        """The next positions of a text, and the states (KV caches) after them; `sources` hold `sentences` sentences."""
        after = []
        for at, layer in enumerate(self.blocks):
            x, memory = layer.advance(x, memories[at], sources[at] if sources else None, sentences)
            after.append(memory)
        return self.norm(x), tuple(after)
