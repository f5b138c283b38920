"""The Transformer: an encoder and a decoder made of attention and feed-forward layers.

    encoder: x ← block(x), each position seeing the whole source
    decoder: y ← block(y, x), each position seeing the target before it (causal mask) and the whole source
    P(next token) = softmax(W y)

Vaswani et al., Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from torch import nn

from regard.base.errors import ConfigError
from regard.layers.embedding import Embedding, split_positions, tie
from regard.layers.pointer_generator import Copying, output_layer, unknown_word
from regard.layers.residual import deepnorm_pair
from regard.models.encoder_decoder import EncoderDecoder, both_sides
from regard.models.layered import Layered
from regard.models.model import Tie
from regard.models.writer import OutputBias, biased_output


@dataclass(frozen=True, kw_only=True)
class Transformer(Layered):
    """Settings of an encoder-decoder Transformer.

    | preset | layers | width | feed-forward | heads | dropout | from                                          |
    |--------|--------|-------|--------------|-------|---------|-----------------------------------------------|
    | tiny   | 4 + 4  | 128   | 256          | 4     | 0.3     | Wu et al., 2021, for Multi30k, 2105.14462     |
    | small  | 6 + 6  | 512   | 1024         | 4     | 0.3     | fairseq's transformer_iwslt_de_en             |
    | base   | 6 + 6  | 512   | 2048         | 8     | 0.1     | Vaswani et al., 2017                          |
    | big    | 6 + 6  | 1024  | 4096         | 16    | 0.3     | Vaswani et al., 2017                          |
    """

    encoder_layers: int = 6
    """the number of layers of the encoder"""
    decoder_layers: int = 6
    """the number of layers of the decoder"""
    feedforward: int = 2048
    tie: Tie = "all"
    """weight tying: which embeddings share the output's matrix: none, the target's, or the source's and the target's"""
    copy: Copying | None = None
    """a pointer-generator output, which also copies words of the source; none: words are only written"""
    embedding_scale: Literal["width", "none"] = "width"
    """the factor of embeddings before positions are added: √width as in the paper, or none"""
    output_bias: OutputBias = "none"
    """the bias of the output layer; fixed numbers rule out tokens that an imported model does not have"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {
            "encoder_layers": 4, "decoder_layers": 4, "width": 128, "feedforward": 256, "heads": 4, "dropout": 0.3,
        },
        "small": {"width": 512, "feedforward": 1024, "heads": 4, "dropout": 0.3},
        "base": {"norm_place": "after", "width": 512, "feedforward": 2048, "heads": 8, "dropout": 0.1},
        "big": {"norm_place": "after", "width": 1024, "feedforward": 4096, "heads": 16, "dropout": 0.3},
    }  # fmt: skip

    def build(self, sizes: Mapping[str, int]) -> "TransformerModel":
        return TransformerModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return both_sides(self, model, length, self.encoder_layers, self.decoder_layers)


class TransformerModel(EncoderDecoder):
    """Embeddings, encoder, decoder and output."""

    def __init__(self, design: Transformer, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if design.tie == "all" and source_vocabulary != target_vocabulary:
            raise ConfigError(
                "transformer.tie: 'all' makes one matrix of the embeddings of both languages, so they must share one "
                f"vocabulary, but have {source_vocabulary} and {target_vocabulary} entries; use 'target' or 'none'"
            )
        sizes, beyond = (source_vocabulary, target_vocabulary), unknown_word(design.copy)
        first, _ = split_positions(design.positions, "transformer.positions")
        scale = design.width**0.5 if design.embedding_scale == "width" else 1.0
        self.source, self.target = (
            Embedding(size, design.width, scale=scale, positions=first, dropout=design.dropout, beyond=beyond)
            for size in sizes
        )
        depths = deepnorm_pair(design.encoder_layers, design.decoder_layers)
        self.encoder = design.stack(design.encoder_layers, "both", depths[0])
        self.decoder = design.stack(design.decoder_layers, "past", depths[1], reads=True)
        if design.copy is not None and design.output_bias != "none":
            raise ConfigError("transformer.output_bias: an output that copies has none; leave out output_bias, or copy")
        self.output = (
            biased_output(design.width, target_vocabulary, design.output_bias)
            if design.copy is None
            else output_layer("transformer", design.copy, design.width, design.width, sizes, bias=False)
        )
        nn.init.normal_(self.output.weight, std=design.width**-0.5)
        if design.tie != "none":
            tie(self.output, self.target, "transformer.tie")
        if design.tie == "all":
            self.source.table = self.target.table
