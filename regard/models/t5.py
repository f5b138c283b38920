"""T5: an encoder-decoder Transformer that reads a text and writes a text, whatever the task.

    logit(i, j) = qᵢᵀ kⱼ + b[bucket(j - i)],  without 1/√d: the initialization of queries has it
    one table b of relative position biases for all layers of the encoder, and one for all of the decoder
    x ← x + branch(rms(x)), no biases anywhere;  P(next token) = softmax(E y / √width), or softmax(W y)

Raffel et al., 2020, https://arxiv.org/abs/1910.10683. Version 1.0 has ReLU and an output that is tied to the embedding
and scaled by width^-½; version 1.1 (Shazeer, 2020, https://arxiv.org/abs/2002.05202) has a gated GELU and an output
matrix of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

from torch import nn

from regard.attention.multihead import Attention, MultiHead
from regard.attention.position import POSITIONS
from regard.attention.positions.buckets import Buckets, BucketTable
from regard.attention.score import SCORES
from regard.attention.scores.dot import Dot
from regard.base.errors import ConfigError
from regard.layers.embedding import Embedding, split_positions, tie
from regard.layers.residual import Norm, deepnorm_pair
from regard.layers.stack import Stack
from regard.models.encoder_decoder import EncoderDecoder, both_sides
from regard.models.layered import Layered
from regard.models.writer import OutputBias, biased_output

_GATED = {"name": "gated", "activation": "gelu_tanh"}
_NEWER = {"feed": _GATED, "tie": "embeddings", "output_scale": "none"}
_DROPOUT = {"attention_dropout": 0.1, "feedforward_dropout": 0.1}


def _published(layers: int, width: int, feedforward: int, heads: int, head_width: int = 64) -> dict[str, Any]:
    depth = {"encoder_layers": layers, "decoder_layers": layers}
    return {"width": width, "feedforward": feedforward, "heads": heads, "head_width": head_width, **depth, **_DROPOUT}


@dataclass(frozen=True, kw_only=True)
class T5(Layered):
    """Settings of T5.

    | preset     | layers  | width | feed-forward  | heads | from                                        |
    |------------|---------|-------|---------------|-------|---------------------------------------------|
    | tiny       | 4 + 4   | 256   | 1024          | 4     | Tay et al., 2021, 2109.10686                |
    | small      | 6 + 6   | 512   | 2048          | 8     | Raffel et al., 2020                         |
    | base       | 12 + 12 | 768   | 3072          | 12    | Raffel et al., 2020                         |
    | large      | 24 + 24 | 1024  | 4096          | 16    | Raffel et al., 2020                         |
    | 3b, 11b    | 24 + 24 | 1024  | 16384, 65536  | 32, 128 | Raffel et al., 2020; heads are 128 wide   |
    | small_v1_1 | 8 + 8   | 512   | 1024          | 6     | version 1.1: gated, output not tied         |
    | base_v1_1  | 12 + 12 | 768   | 2048          | 12    | version 1.1                                 |
    | large_v1_1 | 24 + 24 | 1024  | 2816          | 16    | version 1.1                                 |
    """

    encoder_layers: int = 4
    """the number of layers of the encoder"""
    decoder_layers: int = 4
    """the number of layers of the decoder"""
    width: int = 256
    heads: int = 4
    head_width: int | None = None
    """the width of one attention head; by default width / heads"""
    score: Annotated[Any, SCORES] = "dot"
    positions: Annotated[Any, POSITIONS] = "buckets"
    norm: Norm = "rms"
    linear_bias: Literal["all", "projections", "none"] = "none"
    tie: Literal["embeddings", "all"] = "all"
    """weight tying: source and target always share one matrix of embeddings; with all, the output uses it too"""
    output_scale: Literal["width", "none"] = "width"
    """the factor of hidden states before the output: width^-½, as in version 1.0, or none, as in 1.1"""
    output_bias: OutputBias = "none"
    """the bias of the output layer; fixed numbers rule out tokens that an imported model does not have"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": _published(4, 256, 1024, 4),
        "small": _published(6, 512, 2048, 8),
        "base": _published(12, 768, 3072, 12),
        "large": _published(24, 1024, 4096, 16),
        "3b": _published(24, 1024, 16384, 32, 128),
        "11b": _published(24, 1024, 65536, 128, 128),
        "small_v1_1": {**_published(8, 512, 1024, 6), **_NEWER},
        "base_v1_1": {**_published(12, 768, 2048, 12), **_NEWER},
        "large_v1_1": {**_published(24, 1024, 2816, 16), **_NEWER},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.head_width is not None and self.head_width < 1:
            raise ConfigError(f"t5: head_width must be at least 1, or none, but is {self.head_width}")

    def attention(self, **changes: Any) -> Attention:
        made = super().attention(**changes)
        return made if self.head_width is None else replace(made, width=self.heads * self.head_width)

    def build(self, sizes: Mapping[str, int]) -> "T5Model":
        return T5Model(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return both_sides(self, model, length, self.encoder_layers, self.decoder_layers)


class T5Model(EncoderDecoder):
    """One matrix of embeddings, encoder, decoder and output."""

    def __init__(self, design: T5, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if source_vocabulary != target_vocabulary:
            raise ConfigError(
                "t5: source and target share one matrix of embeddings, so they must share one vocabulary, but have "
                f"{source_vocabulary} and {target_vocabulary} entries; use subwords.joint = true"
            )
        first, _ = split_positions(design.positions, "t5.positions")
        self.source, self.target = (
            Embedding(source_vocabulary, design.width, std=1.0, positions=first, dropout=design.dropout)
            for _ in ("source", "target")
        )
        depths = deepnorm_pair(design.encoder_layers, design.decoder_layers)
        self.encoder = _sharing(design.stack(design.encoder_layers, "both", depths[0]))
        self.decoder = _sharing(_looking_back(design).stack(design.decoder_layers, "past", depths[1], reads=True))
        scale = design.width**-0.5 if design.output_scale == "width" else 1.0
        self.output = biased_output(design.width, target_vocabulary, design.output_bias, scale)
        nn.init.normal_(self.output.weight, std=1.0)
        if design.residual_scale != "deepnorm":  # DeepNorm has its own initialization
            _initialize(self.encoder, design.width)
            _initialize(self.decoder, design.width)
        self.source.table = self.target.table
        if design.tie == "all":
            tie(self.output, self.target, "t5.tie")


def _looking_back(design: T5) -> T5:
    """The design of the decoder, which has all buckets for keys behind a query."""
    if not isinstance(design.positions, Buckets):
        return design
    return replace(design, positions=replace(design.positions, direction="back"))


def _sharing(stack: Stack) -> Stack:
    """Let all layers use the table of position biases of the first; other positions stay as they are."""
    readings = [block.mixer.reading for block in stack.blocks if isinstance(block.mixer, MultiHead)]
    for reading in readings[1:]:
        if isinstance(reading.positions, BucketTable):
            reading.positions = readings[0].positions
    return stack


def _initialize(stack: Stack, width: int) -> None:
    """Normal weights of variance 1 / inputs; those of queries also 1 / head width, in place of the score's."""
    for part in stack.modules():
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, std=part.in_features**-0.5)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
        if isinstance(part, BucketTable):
            nn.init.normal_(part.weight, std=width**-0.5)
    for part in stack.modules():
        if isinstance(part, MultiHead) and isinstance(part.reading.score, Dot):
            projections, rows = part.projections, part.projections.split[0]
            weight = projections.joint.weight[:rows] if projections.is_joint else projections.query.weight
            nn.init.normal_(weight, std=(width * rows / part.heads) ** -0.5)
