"""A stack of layers: an encoder, or a decoder that may attend to one."""

from collections.abc import Callable, Sequence
from typing import Self

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.memory import Memory
from regard.base.errors import ConfigError
from regard.layers.block import Block
from regard.layers.mixer import MixerState


class Stack(nn.Module):
    """Layers one after the other; with pre-norm layers, a final norm follows."""

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
            x = layer(x, keep=keep, source=source, source_keep=source_keep, at=at)
        normed: Tensor = self.norm(x)
        return normed

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
