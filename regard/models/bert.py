"""BERT: a Transformer encoder that is pre-trained by guessing hidden tokens.

    x_t = norm(E[token_t] + p_t + S[segment_t]),  x ← block(x), each position seeing the whole text

Devlin et al., 2018, https://arxiv.org/abs/1810.04805. Post-norm, GELU, and a head by the sizes of the data: masked
tokens, classes, tags or vectors (see `headed.py`). RoBERTa (Liu et al., 2019, https://arxiv.org/abs/1907.11692) and
DistilBERT (Sanh et al., 2019, https://arxiv.org/abs/1910.01108) are presets.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

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
from regard.layers.residual import Place, Residual, deepnorm
from regard.models.headed import Headed, Pooling, TokenHead, head_for
from regard.models.layered import Layered
from regard.models.model import weights_in

_STD = 0.02


@dataclass(frozen=True, kw_only=True)
class Bert(Layered):
    """Settings of a BERT encoder.

    | preset     | layers | width | heads | from                                        |
    |------------|--------|-------|-------|---------------------------------------------|
    | tiny       | 2      | 128   | 2     | Turc et al., 2019, 1908.08962               |
    | small      | 4      | 512   | 8     | Turc et al., 2019                           |
    | base       | 12     | 768   | 12    | Devlin et al., 2018                         |
    | large      | 24     | 1024  | 16    | Devlin et al., 2018                         |
    | roberta    | 12     | 768   | 12    | Liu et al., 2019                            |
    | distilbert | 6      | 768   | 12    | Sanh et al., 2019                           |
    """

    layers: int = 4
    """the number of layers"""
    width: int = 256
    heads: int = 4
    positions: Annotated[Any, POSITIONS] = "learned(512)"
    activation: Activation = "gelu"
    norm_place: Place = "after"
    norm_epsilon: float | None = 1e-12
    tie: Literal["none", "target"] = "target"
    """weight tying: whether the output of the masked-token head and the embedding share one matrix"""
    segments: int | None = 2
    """the number of parts that a text may have, such as question and answer, each with an embedding; None: one part"""
    pooling: Pooling = "first"
    """how the features of a text become one vector: those of its first token, their mean or their maximum"""
    pooled_activation: Activation = "tanh"
    """the activation between the two layers of the classification head"""

    views: ClassVar[tuple[View, ...]] = ("both",)
    needs: ClassVar[tuple[str, ...]] = ("text",)
    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"layers": 2, "width": 128, "heads": 2},
        "small": {"layers": 4, "width": 512, "heads": 8},
        "base": {"layers": 12, "width": 768, "heads": 12, "attention_dropout": 0.1},
        "large": {"layers": 24, "width": 1024, "heads": 16, "attention_dropout": 0.1},
        "roberta": {
            "layers": 12, "width": 768, "heads": 12, "attention_dropout": 0.1, "segments": None, "norm_epsilon": 1e-5,
        },
        "distilbert": {
            "layers": 6, "width": 768, "heads": 12, "attention_dropout": 0.1, "segments": None,
            "pooled_activation": "relu",
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.segments is not None and self.segments < 1:
            raise ConfigError(f"bert: segments must be at least 1, or none, but is {self.segments}")

    def build(self, sizes: Mapping[str, int]) -> "BertModel":
        return BertModel(self, self.sizes_from(sizes)[0], sizes)

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model.encoder, model.head) + self.pairs(length) * self.layers


class BertModel(Headed):
    """Embeddings, encoder layers and head."""

    def __init__(self, design: Bert, vocabulary: int, sizes: Mapping[str, int]) -> None:
        super().__init__()
        first, _ = split_positions(design.positions, "bert.positions")
        residual = Residual(norm=design.norm, epsilon=design.norm_epsilon)
        self.source = Embedding(vocabulary, design.width, std=_STD, positions=first)
        segments = sizes.get("factors", design.segments)
        self.segments = None if segments is None else nn.Embedding(segments, design.width)
        self.norm, self.dropout = residual.build(design.width), Dropout(design.dropout)
        self.encoder = design.stack(design.layers, "both", deepnorm(design.layers))
        if design.residual_scale != "deepnorm":  # DeepNorm has its own initialization
            normal(self.encoder, _STD)
        if self.segments is not None:
            nn.init.normal_(self.segments.weight, std=_STD)
        self.head = head_for(
            sizes,
            design.width,
            residual.build(design.width),
            token_activation=design.activation,
            pooling=design.pooling,
            activation=design.pooled_activation,
            dropout=design.dropout,
        )
        normal(self.head, _STD)
        if isinstance(self.head, TokenHead) and design.tie == "target":
            tie(self.head.output, self.source, "bert.tie")

    def encode(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, "batch"],
        segments: Int[Tensor, "batch length"] | None = None,
    ) -> tuple[Float[Tensor, "batch length width"], Bool[Tensor, "batch length"]]:
        """The features of each token, and where there is one.

        All tokens are of segment 0 unless `segments` says otherwise; a model without segments does not tell them apart.
        Where words have factors (see `regard.data.tags`), these are their numbers.
        """
        at = positions_of(tokens.shape[1], tokens)
        keep = Padding(lengths)(at[:1], at)
        x = self.source(tokens)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(tokens) if segments is None else segments)
        return self.encoder(self.dropout(self.norm(x)), keep=keep), keep[:, 0, 0]
