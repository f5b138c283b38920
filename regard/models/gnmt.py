"""GNMT: deep recurrent networks with residual connections, and attention by the lowest decoder layer.

    encoder: e¹ = [forward(x); backward(x)],  eˡ = rnn(eˡ⁻¹),  from the third layer on eˡ = rnn(eˡ⁻¹) + eˡ⁻¹
    decoder: s¹_t = rnn(y_{t-1}),  c_t = attention(s¹_t, e),  sˡ_t = rnn([sˡ⁻¹_t; c_t]),  from the third on + sˡ⁻¹_t
    P(y_t) = softmax(W s_t + b)

Only the lowest layer of the encoder is bidirectional, and the context goes to all decoder layers above the first, so
that each layer goes through a whole text at once. Wu et al., 2016, https://arxiv.org/abs/1609.08144

With experts between the recurrent layers, it is the translator of Shazeer et al., Outrageously Large Neural Networks,
2017, https://arxiv.org/abs/1701.06538: a sparsely gated mixture after the second encoder layer and the first decoder
layer, x ← x + experts(x).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.masks.padding import Padding
from regard.attention.memory import Memory
from regard.attention.part import positions_of
from regard.base.errors import ConfigError
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding
from regard.layers.feed import FEEDS
from regard.layers.mixer import MixerState
from regard.layers.mixers.recurrent import HiddenState
from regard.layers.pointer_generator import Copying, output_layer, unknown_word
from regard.layers.reader import SingleHead
from regard.layers.rnn import Cell, Rnn
from regard.models.model import Design, weights_in
from regard.models.writer import LayerState, State, Transducer, fitting, given


@dataclass(frozen=True, kw_only=True)
class Gnmt(Design):
    """Settings of a deep recurrent encoder-decoder with residual connections.

    | preset | layers | width | experts          | dropout | from                    |
    |--------|--------|-------|------------------|---------|-------------------------|
    | tiny   | 3 + 3  | 160   |                  | 0.2     | a size for Multi30k     |
    | base   | 8 + 8  | 1024  |                  | 0.2     | Wu et al., 2016         |
    | moe    | 3 + 2  | 512   | 2048, 4 chosen   | 0.1     | Shazeer et al., 2017    |
    | moe_tiny | 3 + 2 | 256  | 8, 2 chosen      | 0.3     | a size for Multi30k     |
    """

    cell: Cell = "lstm"
    """the recurrent cell: elman (a plain RNN), lstm or gru"""
    width: int = 1024
    """the width of states, in each direction of the lowest layer"""
    embedding: int | None = None
    """the width of token embeddings; by default `width`"""
    encoder_layers: int = 8
    """the number of recurrent layers of the encoder"""
    decoder_layers: int = 8
    """the number of recurrent layers of the decoder, at least 2"""
    attention: SingleHead = field(default_factory=lambda: SingleHead(score="additive"))
    """attention of the lowest decoder layer over the encoder's states"""
    feed: Annotated[Any, FEEDS] = None
    """a feed-forward layer between recurrent ones, such as experts: after the second of the encoder and after the first
    of the decoder"""
    feedforward: int | None = None
    """the inner width of that layer; by default four times `width`"""
    copy: Copying | None = None
    """a pointer-generator output, which also copies words of the source; none: words are only written"""
    dropout: float = 0.2
    """applies to embeddings, to the inputs of layers and before the output"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"width": 160, "encoder_layers": 3, "decoder_layers": 3, "dropout": 0.2},
        "base": {},
        "moe": {
            "width": 512, "encoder_layers": 3, "decoder_layers": 2, "feedforward": 2048, "dropout": 0.1,
            "feed": {"name": "experts", "count": 2048, "chosen": 4},
        },
        "moe_tiny": {
            "width": 256, "encoder_layers": 3, "decoder_layers": 2, "feedforward": 512, "dropout": 0.3,
            "feed": {"name": "experts", "count": 8, "chosen": 2},
        },
    }  # fmt: skip

    def build(self, sizes: Mapping[str, int]) -> "GnmtModel":
        return GnmtModel(self, *self.sizes_from(sizes))

    def between(self) -> nn.Module | None:
        """The feed-forward layer between recurrent layers, if there is one."""
        if self.feed is None:
            return None
        filled = self.feed.filled(hidden=self.feedforward, activation="relu", dropout=0.0, bias=True)
        built: nn.Module = filled.build(self.width)
        return built

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        pairs = 2 * model.decoder.cross.value_width * length
        return weights_in(model.encoder), weights_in(model.decoder, model.output) + pairs


class GnmtEncoder(nn.Module):
    """A bidirectional layer, then layers that go forward, from the third on with residual connections."""

    def __init__(self, design: Gnmt, embedding: int) -> None:
        super().__init__()
        wide = 2 * design.width
        self.lowest = Rnn(design.cell, embedding, wide, directions="both")
        self.layers = nn.ModuleList(
            Rnn(design.cell, design.width if at else wide, design.width) for at in range(design.encoder_layers - 1)
        )
        self.width = design.width if self.layers else wide
        self.feed = design.between() if self.layers else None
        self.dropout = Dropout(design.dropout)

    def forward(
        self, x: Float[Tensor, "batch length embedding"], lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch length width"]:
        """The states of the last layer; padding is not read."""
        x, _ = self.lowest(x, lengths=lengths)
        for at, layer in enumerate(self.layers):
            made, _ = layer(self.dropout(x), lengths=lengths)
            x = made + x if at else made
            if self.feed is not None and at == 0:
                x = x + self.feed(x)
        return x


class GnmtDecoder(nn.Module):
    """Recurrent layers, the lowest of which attends to the source for all others."""

    def __init__(self, design: Gnmt, embedding: int, source_width: int) -> None:
        super().__init__()
        self.cross = design.attention.build(design.width, source_width)
        self.lowest = Rnn(design.cell, embedding, design.width)
        read = design.width + self.cross.value_width
        self.layers = nn.ModuleList(Rnn(design.cell, read, design.width) for _ in range(design.decoder_layers - 1))
        self.feed = design.between()
        self.dropout = Dropout(design.dropout)
        self.width = design.width

    def start(self, rows: int) -> tuple[MixerState, ...]:
        """The states of the layers before the first token."""
        return (HiddenState(),) * (len(self.layers) + 1)

    def forward(
        self,
        x: Float[Tensor, "rows length embedding"],
        before: tuple[Any, ...],
        source: Memory,
        sentences: int,
    ) -> tuple[Float[Tensor, "rows length width"], tuple[MixerState, ...]]:
        """The next positions, one or many, and the states after them; neighboring rows share a source."""
        x, states = self.lowest(x, before[0].states)
        after = [HiddenState(states)]
        rows, length, width = x.shape
        context = self.cross.read(x.reshape(sentences, -1, width), source).reshape(rows, length, -1)
        x = x if self.feed is None else x + self.feed(x)
        for at, (layer, memory) in enumerate(zip(self.layers, before[1:], strict=True)):
            made, states = layer(self.dropout(torch.cat([x, context], dim=-1)), memory.states)
            x = made + x if at else made
            after.append(HiddenState(states))
        return x, tuple(after)


class DeepRecurrentModel(Transducer):
    """What deep recurrent encoder-decoders share: embeddings, encoder, decoder and output.

    `encoder(x, lengths)` gives the encoded source, of its `width`; `decoder(x, before, source, sentences)` the next
    positions and the states after them, and `decoder.start(rows)` the states before the first.
    """

    def __init__(
        self,
        where: str,
        vocabularies: tuple[int, int],
        embedding: int,
        encoder: Any,
        decoder: Any,
        copy: Copying | None,
        dropout: float,
    ) -> None:
        super().__init__()
        beyond = unknown_word(copy)
        self.source, self.target = (Embedding(size, embedding, dropout=dropout, beyond=beyond) for size in vocabularies)
        self.encoder, self.decoder = encoder, decoder
        self.dropout = Dropout(dropout)
        self.output = output_layer(where, copy, decoder.width, encoder.width, vocabularies)

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch source width"], Bool[Tensor, "batch source"]]:
        at = positions_of(source.shape[1], source)
        return self.encoder(self.source(source), lengths), Padding(lengths)(at[:1], at)[:, 0, 0]

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        before = self.start(source, source_lengths)
        decoded, _ = self.decoder(self.target(target), before.memories, before.sources[0], before.sentences)
        return self.output.gathered(self.dropout(decoded), before.pointed)

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> LayerState:
        source, lengths = given(source, source_lengths)
        encoded, keep = self.encode(source, lengths)
        return LayerState(
            sentences=len(encoded),
            pointed=self.output.remember(source, encoded, keep),
            memories=self.decoder.start(len(encoded)),
            sources=(self.decoder.cross.remember(encoded, keep),),
        )

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], LayerState]:
        before = fitting(state, LayerState, token)
        x = self.target(token[:, None])
        decoded, memories = self.decoder(x, before.memories, before.sources[0], before.sentences)
        logits = self.output.predict(self.dropout(decoded[:, 0]), before.pointed)
        return logits, replace(before, length=before.length + 1, memories=memories)


class GnmtModel(DeepRecurrentModel):
    """Embeddings, encoder, decoder and output."""

    def __init__(self, design: Gnmt, source_vocabulary: int, target_vocabulary: int) -> None:
        if design.decoder_layers < 2:
            raise ConfigError("gnmt.decoder_layers: the context goes to the layers above the first; use at least 2")
        embedding, sizes = design.embedding or design.width, (source_vocabulary, target_vocabulary)
        encoder = GnmtEncoder(design, embedding)
        decoder = GnmtDecoder(design, embedding, encoder.width)
        super().__init__("gnmt", sizes, embedding, encoder, decoder, design.copy, design.dropout)
