"""XLNet: a Transformer encoder that is pre-trained by guessing tokens in a random order.

    content: h ← block(h, reading [memory; h]), seeing what comes before it in the order, and itself
    query:   g ← block(g, reading [memory; h]), seeing what comes before it alone; g starts as one learned vector w

P(token at i | those before i in the order) = softmax(E g_i + b). Yang et al., XLNet, 2019,
https://arxiv.org/abs/1906.08237, with the relative positions and the memory of Transformer-XL. Everywhere else the
content stream alone is read, each position seeing the whole text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.masks.padding import Padding
from regard.attention.part import positions_of
from regard.attention.position import POSITIONS
from regard.base.errors import ConfigError
from regard.layers.activation import Activation
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding, split_positions, tie
from regard.layers.initialize import normal
from regard.layers.mixer import View
from regard.layers.mixers.self_attention import SelfAttention
from regard.layers.output import LinearOutput
from regard.layers.residual import Place, Residual, deepnorm
from regard.models.headed import Headed, Pooling, head_for
from regard.models.layered import Layered
from regard.models.model import weights_in

_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class XLNet(Layered):
    """Settings of an XLNet encoder.

    | preset | layers | width | heads | from              |
    |--------|--------|-------|-------|-------------------|
    | tiny   | 2      | 128   | 2     | for trying out    |
    | base   | 12     | 768   | 12    | Yang et al., 2019 |
    | large  | 24     | 1024  | 16    | Yang et al., 2019 |
    """

    layers: int = 4
    """the number of layers"""
    width: int = 256
    heads: int = 4
    positions: Annotated[Any, POSITIONS] = "transformer_xl(waves='halves')"
    activation: Activation = "gelu"
    norm_place: Place = "after"
    norm_epsilon: float | None = 1e-12
    linear_bias: Literal["all", "projections", "feed", "none"] = "feed"
    tie: Literal["none", "target"] = "target"
    """weight tying: whether the output over the vocabulary and the embedding share one matrix"""
    pooling: Pooling = "mean"
    """how the features of a text become one vector: those of its first token, their mean or their maximum"""
    pooled_activation: Activation = "tanh"
    """the activation between the two layers of the classification head"""

    views: ClassVar[tuple[View, ...]] = ("both",)
    needs: ClassVar[tuple[str, ...]] = ("text",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 2, "width": 128, "heads": 2},
        "base": {"layers": 12, "width": 768, "heads": 12, "attention_dropout": 0.1},
        "large": {"layers": 24, "width": 1024, "heads": 16, "attention_dropout": 0.1},
    }

    def build(self, sizes: Mapping[str, int]) -> "XLNetModel":
        if not isinstance(self.mixer, SelfAttention):
            raise ConfigError(
                f"{self.where}.mixer: two streams need self-attention; "
                "use mixer = 'self_attention', or another model, such as bert"
            )
        return XLNetModel(self, self.sizes_from(sizes)[0], sizes)

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model.encoder, model.head) + self.pairs(length) * self.layers


class VocabularyHead(nn.Module):
    """Logits over the vocabulary straight from the features: E h + b."""

    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__()
        self.output = LinearOutput(width, vocabulary)

    def forward(
        self, features: Float[Tensor, "batch length width"], keep: Bool[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length width"]:
        """The hidden states that `output` turns into logits: the features themselves."""
        return features


class TwoStreams(NamedTuple):
    """What both streams give, and the memories for the next segment: each layer's inputs."""

    content: Float[Tensor, "batch length width"]
    query: Float[Tensor, "batch asked width"]
    memories: tuple[Float[Tensor, "batch seen width"], ...]


class XLNetModel(Headed):
    """Embeddings, encoder layers that both streams share, and head."""

    def __init__(self, design: XLNet, vocabulary: int, sizes: Mapping[str, int]) -> None:
        super().__init__()
        first, _ = split_positions(design.positions, "xlnet.positions")
        self.source = Embedding(vocabulary, design.width, std=_STD, positions=first)
        self.query = nn.Parameter(torch.empty(design.width).normal_(std=_STD))
        self.dropout = Dropout(design.dropout)
        self.encoder = design.stack(design.layers, "both", deepnorm(design.layers))
        if design.residual_scale != "deepnorm":  # DeepNorm has its own initialization
            normal(self.encoder, _STD)
        norm = Residual(norm=design.norm, epsilon=design.norm_epsilon).build(design.width)
        chosen = sizes.keys() & {"classes", "tags", "vector"}
        self.head: nn.Module = (
            head_for(
                sizes,
                design.width,
                norm,
                token_activation=design.activation,
                pooling=design.pooling,
                activation=design.pooled_activation,
                dropout=design.dropout,
            )
            if chosen
            else VocabularyHead(design.width, vocabulary)
        )
        normal(self.head, _STD)
        if isinstance(self.head, VocabularyHead) and design.tie == "target":
            tie(self.head.output, self.source, "xlnet.tie")

    @property
    def output(self) -> LinearOutput:
        if not isinstance(self.head, VocabularyHead):
            raise ConfigError(f"model: a {type(self.head).__name__} gives no logits over the vocabulary")
        return self.head.output

    def encode(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, "batch"],
        segments: Int[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "batch length width"], Bool[Tensor, "batch length"]]:
        """The features of each token, which sees the whole text, and where there is one. Segments count for nothing."""
        at = positions_of(tokens.shape[1], tokens)
        keep = Padding(lengths)(at[:1], at)
        return self.encoder(self.dropout(self.source(tokens)), keep=keep), keep[:, 0, 0]

    def two_streams(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, "batch"],
        sees: Bool[Tensor, "batch length length"],
        asked: Int[Tensor, "batch asked"],
        memories: Sequence[Float[Tensor, "batch earlier width"]] = (),
    ) -> TwoStreams:
        """Both streams, the query stream at the positions `asked` alone.

        sees[i, j] is True where position j comes before i in the order. The content stream also sees itself, and all
        see the memories.
        """
        length, earlier = tokens.shape[1], memories[0].shape[1] if memories else 0
        at = positions_of(earlier + length, tokens)
        here = at[earlier:]
        row, there = torch.arange(len(tokens), device=tokens.device)[:, None], at[:length] < lengths[:, None]
        before = sees & there[:, None]
        itself = torch.eye(length, dtype=torch.bool, device=tokens.device)
        masks = (
            nn.functional.pad(seen, (earlier, 0), value=True)[:, None] for seen in (before | itself, before[row, asked])
        )
        keep, asked_keep = masks
        content = self.dropout(self.source(tokens))
        query = self.dropout(self.query.expand(*asked.shape, -1))
        inputs_of = []
        for number, layer in enumerate(self.encoder.blocks):
            inputs = torch.cat([memories[number], content], dim=1) if memories else content
            inputs_of.append(inputs.detach())
            content = layer.look(content, inputs, keep=keep, at=here, inputs_at=at)
            query = layer.look(query, inputs, keep=asked_keep, at=asked + earlier, inputs_at=at)
        return TwoStreams(self.encoder.norm(content), self.encoder.norm(query), tuple(inputs_of))

    def recall(self, before: Int[Tensor, "batch context"]) -> tuple[Float[Tensor, "batch context width"], ...]:
        """The memories of a text, each layer's inputs, in which every position sees all of it; without gradient."""
        with torch.no_grad():
            return self.encoder.inputs(self.dropout(self.source(before)))
