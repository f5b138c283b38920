"""ConvS2S: gated convolutions instead of recurrence, and attention in every decoder layer.

    e = embedding(x) + position,  h = W e,  g = embedding(y) + position in the same way
    each encoder layer:  h ← √½ (h + v(conv(h)))                         v([a; b]) = a · σ(b): a gated linear unit
    z = W h,  values = √½ (z + e)
    each decoder layer:  u = v(conv of the past(h)),  d = √½ (W u + g),  c = √m · Σ_j softmax_j(d · z_j) values_j
                         h ← √½ (h + √½ (u + W c))
    P(y_t) = softmax(W_o W h_t + b)

m is the number of source tokens. All linear layers and convolutions have weight normalization, and √½ keeps the
variance of sums. Gehring et al., Convolutional Sequence to Sequence Learning, 2017, https://arxiv.org/abs/1705.03122
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.masks.padding import Padding
from regard.attention.memories.growing import Growing
from regard.attention.memory import PairMemory
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import positions_of
from regard.attention.position import POSITIONS
from regard.attention.reading import Reading
from regard.attention.scores.dot import Dot
from regard.base.errors import ConfigError
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding, split_positions
from regard.layers.mixers.convolution import LastInputs
from regard.layers.pointer_generator import Copying, output_layer, unknown_word
from regard.layers.weight_norm import NormedConvolution
from regard.models.model import Design, weights_in
from regard.models.writer import LayerState, State, Transducer, fitting, given

HALF = 0.5**0.5
_GATED = 4.0


@dataclass(frozen=True, kw_only=True)
class ConvS2s(Design):
    """Settings of a convolutional encoder-decoder.

    | preset | layers  | width | embedding | kernel | dropout | from                                |
    |--------|---------|-------|-----------|--------|---------|-------------------------------------|
    | tiny   | 4 + 4   | 192   | 128       | 3      | 0.2     | a size for Multi30k                 |
    | base   | 20 + 20 | 512   | 512       | 3      | 0.2     | Gehring et al., English → Romanian  |
    """

    width: int = 512
    """the width of hidden states"""
    embedding: int | None = None
    """the width of token embeddings; by default `width`"""
    encoder_layers: int = 20
    """the number of convolutions of the encoder"""
    decoder_layers: int = 20
    """the number of convolutions of the decoder, each with its attention"""
    kernel: int = 3
    """how many positions a convolution covers"""
    positions: Annotated[Any, POSITIONS] = "learned(1024)"
    """position embeddings of both sides"""
    copy: Copying | None = None
    """a pointer-generator output, which also copies words of the source; none: words are only written"""
    dropout: float = 0.2
    """applies to embeddings, to the inputs of convolutions and before the output"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"width": 192, "embedding": 128, "encoder_layers": 4, "decoder_layers": 4},
        "base": {},
    }

    def build(self, sizes: Mapping[str, int]) -> "ConvS2sModel":
        return ConvS2sModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        pairs = 2 * (self.embedding or self.width) * length * self.decoder_layers
        return weights_in(model.encoder), weights_in(model.decoder, model.output) + pairs


class GatedLayer(nn.Module):
    """u = v(conv(h)): a convolution with dropout before it and a gated linear unit after it."""

    def __init__(self, design: ConvS2s) -> None:
        super().__init__()
        self.dropout = Dropout(design.dropout)
        gain = _GATED * (1 - design.dropout)
        self.taps = NormedConvolution(design.width, 2 * design.width, design.kernel, gain)

    def forward(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch inside width"]:
        """The outputs of all positions at which the kernel lies wholly inside."""
        return F.glu(self.taps(self.dropout(x)), dim=-1)


class StepAttention(nn.Module):
    """d = √½ (W u + g),  W c: the attention of one decoder layer, with its maps."""

    def __init__(self, width: int, embedding: int) -> None:
        super().__init__()
        self.query, self.context = NormedConvolution(width, embedding), NormedConvolution(embedding, width)
        self.reading = Reading(Dot(), Softmax())

    def remember(self, key: Tensor, value: Tensor, keep: Tensor) -> PairMemory:
        """The memory of the encoded source."""
        return Growing().start(self.reading).extend(key[:, None], value[:, None], keep)

    def forward(
        self,
        u: Float[Tensor, "rows length width"],
        read: Float[Tensor, "rows length embedding"],
        source: PairMemory,
        sentences: int,
    ) -> Float[Tensor, "rows length width"]:
        """W c, given u and the embedding of the token just read; neighboring rows share a source."""
        query = HALF * (self.query(u) + read)
        rows, length, width = query.shape
        query = query.reshape(sentences, 1, -1, width)
        found = source.read(self.reading, query, positions_of(query.shape[2], query))
        if source.kept is not None:
            found = found * source.kept.sum(1).to(found.dtype).sqrt()[:, None, None, None]
        made: Tensor = self.context(found.reshape(rows, length, width))
        return made


class ConvEncoder(nn.Module):
    """Convolutions over the source."""

    def __init__(self, design: ConvS2s, embedding: int) -> None:
        super().__init__()
        self.enter, self.leave = NormedConvolution(embedding, design.width), NormedConvolution(design.width, embedding)
        self.layers = nn.ModuleList(GatedLayer(design) for _ in range(design.encoder_layers))
        self.ahead = (design.kernel - 1) // 2
        self.behind = design.kernel - 1 - self.ahead

    def forward(
        self, x: Float[Tensor, "batch length embedding"], keep: Bool[Tensor, "batch length"]
    ) -> tuple[Float[Tensor, "batch length embedding"], Float[Tensor, "batch length embedding"]]:
        """z, which decoder layers compare with, and the values, which they read; padding counts as zeros."""
        hidden = self.enter(x).masked_fill(~keep[:, :, None], 0.0)
        for layer in self.layers:
            made = layer(F.pad(hidden, (0, 0, self.behind, self.ahead)))
            hidden = (HALF * (hidden + made)).masked_fill(~keep[:, :, None], 0.0)
        z = self.leave(hidden)
        return z, HALF * (z + x)


class ConvDecoder(nn.Module):
    """Convolutions over the past of the target, each followed by attention to the source."""

    def __init__(self, design: ConvS2s, embedding: int) -> None:
        super().__init__()
        self.enter, self.leave = NormedConvolution(embedding, design.width), NormedConvolution(design.width, embedding)
        self.layers = nn.ModuleList(GatedLayer(design) for _ in range(design.decoder_layers))
        self.cross = nn.ModuleList(StepAttention(design.width, embedding) for _ in range(design.decoder_layers))
        self.reach = design.kernel - 1

    def forward(
        self,
        x: Float[Tensor, "rows length embedding"],
        before: tuple[Any, ...],
        sources: tuple[Any, ...],
        sentences: int,
    ) -> tuple[Float[Tensor, "rows length embedding"], tuple[LastInputs, ...]]:
        """The next positions, one or many, and the last inputs of each layer after them."""
        hidden, after = self.enter(x), []
        for layer, cross, memory, source in zip(self.layers, self.cross, before, sources, strict=True):
            past = hidden.new_zeros(len(x), self.reach, hidden.shape[2]) if memory.inputs is None else memory.inputs
            seen = torch.cat([past, hidden], dim=1)
            after.append(LastInputs(seen[:, seen.shape[1] - self.reach :]))
            made = layer(seen)
            hidden = HALF * (hidden + HALF * (made + cross(made, x, source, sentences)))
        return self.leave(hidden), tuple(after)


class ConvS2sModel(Transducer):
    """Embeddings, encoder, decoder and output."""

    def __init__(self, design: ConvS2s, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        width, sizes = design.embedding or design.width, (source_vocabulary, target_vocabulary)
        first, inside = split_positions(design.positions, "conv_s2s.positions")
        if inside is not None:
            name = type(inside).__name__.lower()
            raise ConfigError(f"conv_s2s.positions: {name} acts inside self-attention; use learned, sinusoidal or none")
        more: dict[str, Any] = {"dropout": design.dropout, "positions": first, "beyond": unknown_word(design.copy)}
        self.source, self.target = (Embedding(size, width, std=0.1, **more) for size in sizes)
        self.encoder, self.decoder = ConvEncoder(design, width), ConvDecoder(design, width)
        self.dropout = Dropout(design.dropout)
        self.output = output_layer("conv_s2s", design.copy, width, width, sizes)

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch source width"], Bool[Tensor, "batch source"]]:
        _, values, keep = self._encode(source, lengths)
        return values, keep

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        before = self.start(source, source_lengths)
        decoded, _ = self.decoder(self.target(target), before.memories, before.sources, before.sentences)
        return self.output.gathered(self.dropout(decoded), before.pointed)

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> LayerState:
        source, lengths = given(source, source_lengths)
        z, values, keep = self._encode(source, lengths)
        return LayerState(
            sentences=len(z),
            pointed=self.output.remember(source, values, keep),
            memories=(LastInputs(),) * len(self.decoder.layers),
            sources=tuple(cross.remember(z, values, keep) for cross in self.decoder.cross),  # type: ignore[operator]
        )

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], LayerState]:
        before = fitting(state, LayerState, token)
        x = self.target(token[:, None], first=before.length)
        decoded, memories = self.decoder(x, before.memories, before.sources, before.sentences)
        logits = self.output.predict(self.dropout(decoded[:, 0]), before.pointed)
        return logits, replace(before, length=before.length + 1, memories=memories)

    def _encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        at = positions_of(source.shape[1], source)
        keep = Padding(lengths)(at[:1], at)[:, 0, 0]
        return *self.encoder(self.source(source), keep), keep
