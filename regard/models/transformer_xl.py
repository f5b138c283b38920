"""Transformer-XL: a language model whose segments recall the one before.

    x ← block(x, reading [SG(memory); x]), relative positions;  P(next token) = softmax(W x)

The memory of a layer holds its inputs at the last positions; no gradient flows through it (SG), only into the weights
that read it. Dai et al., Transformer-XL, 2019, https://arxiv.org/abs/1901.02860. With the memory `rolling(n)` each
position sees itself and the n - 1 before it, in this segment or the last: a text in segments equals one long pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.memories.rolling import Rolling
from regard.attention.position import POSITIONS
from regard.base.errors import ConfigError, check_at_least
from regard.layers.activation import Activation
from regard.layers.mixers.self_attention import SelfAttention
from regard.layers.residual import Place
from regard.models.gpt import Gpt, GptModel
from regard.models.writer import Recalling


@dataclass(frozen=True, kw_only=True)
class TransformerXL(Gpt):
    """Settings of Transformer-XL.

    | preset | layers | width | heads | memory | from                                      |
    |--------|--------|-------|-------|--------|-------------------------------------------|
    | tiny   | 4      | 128   | 4     | 128    | for trying out                            |
    | base   | 16     | 410   | 10    | 150    | Dai et al., 2019, WikiText-103            |
    | text8  | 12     | 512   | 8     | 512    | Dai et al., 2019, characters (enwik8)     |
    """

    positions: Annotated[Any, POSITIONS] = "transformer_xl"
    memory: str | dict[str, Any] = "rolling(256)"
    activation: Activation = "relu"
    norm_place: Place = "after"
    linear_bias: Literal["all", "projections", "feed", "none"] = "feed"

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 128, "heads": 4, "memory": "rolling(128)"},
        "base": {"layers": 16, "width": 410, "heads": 10, "feedforward": 2100, "memory": "rolling(150)"},
        "text8": {"layers": 12, "width": 512, "heads": 8, "memory": "rolling(512)"},
    }

    def build(self, sizes: Any) -> "TransformerXLModel":
        if not isinstance(self.mixer, SelfAttention):
            raise ConfigError(
                f"{self.where}.mixer: segments are recalled by self-attention; "
                "use mixer = 'self_attention', or another model, such as gpt"
            )
        return TransformerXLModel(self, *self.sizes_from(sizes))


class TransformerXLModel(GptModel, Recalling):
    """A decoder whose layers also read their inputs of the segment before."""

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
        before: Int[Tensor, "batch context"] | None = None,
    ) -> Float[Tensor, "batch target width"]:
        """The hidden states; with the text `before` the target, which is only recalled and not learned from."""
        if before is None or not before.shape[1]:
            return super().hidden(source, source_lengths, target)
        with torch.no_grad():
            memories = self._memories(self.decoder.inputs(self.target(before)))
        return self.segment(target, memories)[0]

    def segment(
        self, tokens: Int[Tensor, "batch length"], memories: Sequence[Float[Tensor, "batch earlier width"]] = ()
    ) -> tuple[Float[Tensor, "batch length width"], tuple[Float[Tensor, "batch kept width"], ...]]:
        first = memories[0].shape[1] if memories else 0
        hidden, seen = self.decoder.recall(self.target(tokens, first=first), memories)
        return hidden, self._memories(seen)

    def remember_more(self, size: int) -> None:
        """Let each position see the last `size` positions, such as more than in training."""
        check_at_least("memory", 1, size=size)
        for block in self.decoder.blocks:
            if not isinstance(block.self_attention.memory, Rolling):
                name = type(block.self_attention.memory).__name__.lower()
                raise ConfigError(f"memory: that of this model is {name}, which has no size; train it with rolling(…)")
            block.self_attention.memory = Rolling(size)

    def _memories(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """What the next segment can still see of each layer's inputs."""
        blocks = self.decoder.blocks
        return tuple(self._kept(part, block.self_attention.memory) for part, block in zip(inputs, blocks, strict=True))

    def _kept(self, inputs: Tensor, memory: Any) -> Tensor:
        """The inputs that the next segment can still see."""
        inputs = inputs.detach()
        return inputs[:, max(0, inputs.shape[1] - memory.size + 1) :] if isinstance(memory, Rolling) else inputs
