"""A language model of attention layers: each position sees what came before it, and predicts what comes next.

    x ← block(x), causal;  P(next token) = softmax(W x)

Radford et al., 2018 and 2019 (GPT, GPT-2), https://openai.com/index/better-language-models/. Normalized before each
branch, the output tied to the embedding, and the maps that end a residual branch started smaller by √(2 layers).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.masks.causal import Causal
from regard.attention.multihead import Attention
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS
from regard.attention.score import SCORES
from regard.layers.activation import Activation
from regard.layers.block import Block
from regard.layers.embedding import Embedding, split_positions, tie
from regard.layers.feeds.plain import Plain
from regard.layers.initialize import normal
from regard.layers.residual import Place, Residual
from regard.layers.stack import Stack
from regard.models.model import Design, LayerState, Model, State, fitting, weights_in

STD = 0.02
RESIDUAL_ENDS = ("self_attention.output", "feedforward.outer")


@dataclass(frozen=True, kw_only=True)
class Gpt(Design):
    """What a decoder-only Transformer is made of.

    `small` has the sizes of GPT-2 small: 124,439,808 parameters with its vocabulary of 50,257.
    """

    layers: int = 6
    width: int = 384
    feedforward: int | None = None
    """the width inside the feed-forward; four times `width` unless set"""
    heads: int = 6
    key_heads: int | None = None
    """key and value heads, each shared by several query heads; as many as heads unless set"""
    norm: Place = "before"
    positions: Annotated[Any, POSITIONS] = "learned(1024)"
    """None: the order is not seen, save through the causal mask"""
    score: Annotated[Any, SCORES] = "scaled_dot"
    normalizer: Annotated[Any, NORMALIZERS] = "softmax"
    memory: str | dict[str, Any] = "growing"
    """of the text before, while generating"""
    activation: Activation = "gelu_tanh"
    tie: Literal["none", "target"] = "target"
    """whether the output's matrix is the embedding's"""
    dropout: float = 0.1
    """of embeddings and of each branch"""
    attention_dropout: float = 0.0
    feedforward_dropout: float = 0.0

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 4, "width": 128, "heads": 4},
        "small": {"layers": 12, "width": 768, "heads": 12, "attention_dropout": 0.1},
    }

    needs: ClassVar[tuple[str, ...]] = ("text",)

    def build(self, sizes: Mapping[str, int]) -> "GptModel":
        return GptModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        pairs = self.width * length * self.layers  # of logits and of reading, over half the text on average
        return 0.0, weights_in(model.decoder, model.output) + pairs

    def block(self, attention: Attention) -> Block:
        """One layer."""
        return Block(
            self.width,
            mixer=attention,
            feed=Plain(self.feedforward, self.activation, self.feedforward_dropout),
            residual=Residual(place=self.norm, dropout=self.dropout),
        )


class GptModel(Model):
    """The layers and what is around them."""

    has_source = False

    def __init__(self, design: Gpt, vocabulary: int) -> None:
        super().__init__()
        first, every = split_positions(design.positions, "gpt.positions")
        self.target = Embedding(vocabulary, design.width, std=STD, positions=first, dropout=design.dropout)
        attention = Attention(
            heads=design.heads,
            key_heads=design.key_heads,
            score=design.score,
            mask=Causal(),
            normalizer=design.normalizer,
            positions=every,
            memory=design.memory,
            dropout=design.attention_dropout,
        )
        self.decoder = Stack.of(design.layers, lambda at: design.block(attention))
        self.output = nn.Linear(design.width, vocabulary, bias=False)
        normal(self.decoder, STD, RESIDUAL_ENDS, 2 * design.layers)
        normal(self.output, STD)
        if design.tie == "target":
            tie(self.output, self.target)

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        decoded: Tensor = self.decoder(self.target(target))
        return decoded

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None = None,
        source_lengths: Int[Tensor, "sentences"] | None = None,
        rows: int = 1,
    ) -> LayerState:
        return LayerState(sentences=rows, memories=self.decoder.start())

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], LayerState]:
        before = fitting(state, LayerState, token)
        x, memories = self.decoder.advance(self.target(token[:, None], first=before.length), before.memories)
        return self.output(x[:, 0]), replace(before, length=before.length + 1, memories=memories)
