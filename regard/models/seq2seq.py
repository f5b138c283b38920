"""Recurrent encoder-decoder (sequence to sequence), with or without attention.

    (e_1 … e_S), s_0 = encoder(source)                        the encoder's last state starts the decoder
    c_t = attention(query, e_1 … e_S)                         query = s_{t-1} (previous) or s_t (current)
    s_t = cell([y_{t-1}; …], s_{t-1})                         … = c, where it enters the step; o_{t-1}, where it is fed
    o_t = s_t, [s_t; c_t] or tanh(W [s_t; c_t])               where c_t enters the output
    P(y_t) = softmax(W_o o_t + b)

Without attention: Sutskever et al., 2014, https://arxiv.org/abs/1409.3215, where the whole source must pass through
one vector. Previous state, into the step: Bahdanau et al., 2015, https://arxiv.org/abs/1409.0473. Current state, into
the output, with input feeding: Luong et al., 2015, https://arxiv.org/abs/1508.04025
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.masks.padding import Padding
from regard.attention.memory import Memory
from regard.attention.part import positions_of
from regard.base.errors import ConfigError
from regard.layers.activation import Activation
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding, tie
from regard.layers.pointer_generator import Copying, PointerGenerator, output_layer, unknown_word
from regard.layers.reader import Combine, Joining, SingleHead
from regard.layers.rnn import Bridge, Cell, Directions, Rnn, States, share_recurrence
from regard.models.model import Design, Tie, weights_in
from regard.models.writer import State, Transducer, fitting, given

Query = Literal["previous", "current"]
Context = Literal["step", "output", "both"]
Feeding = Literal["nothing", "output"]
Shared = Literal["nothing", "recurrent"]


@dataclass(frozen=True, kw_only=True)
class Seq2seq(Design):
    """Settings of a recurrent encoder-decoder."""

    cell: Cell = "gru"
    """the recurrent cell: elman (a plain RNN), lstm or gru"""
    activation: Activation = "tanh"
    """the activation of an elman cell"""
    width: int = 256
    """the width of the decoder's states"""
    embedding: int | None = None
    """the width of token embeddings; by default `width`"""
    encoder_width: int | None = None
    """the width of the encoder's states, both directions together; by default `width`"""
    encoder_layers: int = 1
    """the number of recurrent layers of the encoder"""
    decoder_layers: int = 1
    """the number of recurrent layers of the decoder"""
    directions: Directions = "both"
    """whether the encoder is bidirectional"""
    attention: SingleHead | None = field(default_factory=SingleHead)
    """attention over the encoder's states; none: the decoder gets only the last of them"""
    query: Query = "current"
    """whether the decoder attends with its state before or after the step"""
    context: Context = "output"
    """where the context goes: into the recurrent step, into the output, or both"""
    combine: Combine = "tanh"
    """how state and context are joined at the output"""
    feeding: Feeding = "nothing"
    """input feeding: what of the last step enters the next beside the token"""
    share: Shared = "nothing"
    """recurrent: encoder and decoder have one recurrent matrix W^h"""
    tie: Tie = "none"
    """weight tying: which embeddings share the output's matrix: none, the target's, or the source's and the target's"""
    copy: Copying | None = None
    """a pointer-generator output, which also copies words of the source; none: words are only written"""
    dropout: float = 0.0
    """applies to embeddings, between layers and before the output"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "bahdanau": {
            "width": 1000, "embedding": 620, "encoder_width": 2000, "attention": {"score": "additive"},
            "query": "previous", "context": "both",
        },
        "luong": {
            "cell": "lstm", "width": 1000, "encoder_layers": 4, "decoder_layers": 4, "directions": "one",
            "attention": {"score": "bilinear"}, "feeding": "output", "dropout": 0.2,
        },
        "dates": {"width": 128, "embedding": 64, "attention": {"score": "bilinear"}, "dropout": 0.1},
        "small": {"cell": "lstm", "width": 256, "attention": {"score": "bilinear"}, "dropout": 0.3},
    }  # fmt: skip

    def build(self, sizes: Mapping[str, int]) -> "Seq2seqModel":
        return Seq2seqModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        reader = model.decoder.cross
        pairs = 0 if reader is None else 2 * reader.value_width * length
        return weights_in(model.encoder), weights_in(model.decoder, model.output) + pairs


@dataclass(frozen=True, kw_only=True)
class Carried(State):
    """Per row the decoder's states, the last context and the output fed back; per sentence the encoded source."""

    states: States
    read: Float[Tensor, "rows read_width"] | None = None
    fed: Float[Tensor, "rows output_width"] | None = None
    source: Memory | None = None

    def pick_rows(self, rows: Tensor) -> Self:
        read, fed = (None if vector is None else vector[rows] for vector in (self.read, self.fed))
        return replace(self, states=tuple(state[:, rows] for state in self.states), read=read, fed=fed)

    def pick_sentences(self, sentences: Tensor) -> Self:
        return replace(self, source=None if self.source is None else self.source.reorder(sentences))


class Decoder(nn.Module):
    """The decoder: recurrent cells with cross-attention."""

    def __init__(self, design: Seq2seq, embedding: int, source_width: int) -> None:
        super().__init__()
        self.query, self.context, self.feeding = design.query, design.context, design.feeding
        self.cross = None if design.attention is None else design.attention.build(design.width, source_width)
        read_width = 0 if self.cross is None else self.cross.value_width
        joins = self.cross is not None and design.context != "step"
        self.joining = Joining(design.width, read_width, design.combine) if joins else None
        self.width = design.width if self.joining is None else self.joining.width
        input_width = embedding + (0 if design.context == "output" else read_width)
        input_width += 0 if design.feeding == "nothing" else self.width
        layers, activation = design.decoder_layers, design.activation
        self.rnn = Rnn(design.cell, input_width, design.width, layers, dropout=design.dropout, activation=activation)
        self.read_width = read_width

    @property
    def at_once(self) -> bool:
        """Whether all steps can be computed at once: none needs the context of another."""
        return self.feeding == "nothing" and (self.cross is None or self.context == "output")

    def start(self, states: States, source: Memory | None) -> Carried:
        """The state before the first step: context and fed output are zero."""
        rows = states[0].shape[1]
        read = None if self.cross is None or self.context == "output" else states[0].new_zeros(rows, self.read_width)
        fed = None if self.feeding == "nothing" else states[0].new_zeros(rows, self.width)
        return Carried(sentences=rows, states=states, read=read, fed=fed, source=source)

    def forward(
        self, x: Float[Tensor, "batch target embedding"], before: Carried
    ) -> tuple[Float[Tensor, "batch target width"], Float[Tensor, "batch target state"]]:
        """The outputs of all steps, given all inputs (teacher forcing), and the states that attended in them."""
        if not self.at_once:
            outputs, queries = [], []
            for token in x.unbind(1):
                output, after = self.advance(token, before)
                outputs.append(output)
                queries.append(self.query_of(before, after))
                before = after
            return torch.stack(outputs, dim=1), torch.stack(queries, dim=1)
        states, _ = self.rnn(x, before.states)
        query = states
        if self.query == "previous":
            query = torch.cat([before.states[0][-1][:, None], states[:, :-1]], dim=1)
        if self.cross is None or self.joining is None or before.source is None:
            return states, query
        return self.joining(states, self.cross.read(query, before.source)), query

    def query_of(self, before: Carried, after: Carried) -> Float[Tensor, "rows state"]:
        """The state that attended in a step."""
        return (before if self.query == "previous" else after).states[0][-1]

    def advance(
        self, x: Float[Tensor, "rows embedding"], before: Carried
    ) -> tuple[Float[Tensor, "rows width"], Carried]:
        """One step."""
        read = self._read(before.states[0][-1], before) if self.query == "previous" else before.read
        inputs = [x]
        if read is not None and self.context != "output":
            inputs.append(read)
        if before.fed is not None:
            inputs.append(before.fed)
        top, states = self.rnn(torch.cat(inputs, dim=-1)[:, None], before.states)
        output = top[:, 0]
        if self.query == "current":
            read = self._read(output, before)
        if self.joining is not None and read is not None:
            output = self.joining(output, read)
        after = replace(
            before,
            states=states,
            read=None if self.context == "output" else read,
            fed=None if self.feeding == "nothing" else output,
        )
        return output, after

    def _read(self, query: Tensor, before: Carried) -> Tensor | None:
        """Attend to the source; the rows of a sentence query its one source together, so that it is not copied."""
        if self.cross is None or before.source is None:
            return None
        rows, width = query.shape
        return self.cross.read(query.reshape(before.sentences, -1, width), before.source).reshape(rows, -1)


class Seq2seqModel(Transducer):
    """Embeddings, encoder, decoder and output."""

    def __init__(self, design: Seq2seq, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        if design.tie == "all" and source_vocabulary != target_vocabulary:
            raise ConfigError(
                "seq2seq.tie: 'all' makes one matrix of the embeddings of both languages, so they must share one "
                f"vocabulary, but have {source_vocabulary} and {target_vocabulary} entries; use 'target' or 'none'"
            )
        embedding, encoder_width = design.embedding or design.width, design.encoder_width or design.width
        sizes, beyond = (source_vocabulary, target_vocabulary), unknown_word(design.copy)
        self.source, self.target = (Embedding(size, embedding, dropout=design.dropout, beyond=beyond) for size in sizes)
        layers, activation = design.encoder_layers, design.activation
        self.encoder = Rnn(design.cell, embedding, encoder_width, layers, design.directions, design.dropout, activation)
        self.decoder = Decoder(design, embedding, encoder_width)
        if design.share == "recurrent":
            share_recurrence(self.encoder, self.decoder.rnn, "seq2seq.share")
        self.bridge = Bridge(self.encoder, self.decoder.rnn)
        self.dropout = Dropout(design.dropout)
        widths, reader = (self.decoder.width, encoder_width), self.decoder.cross
        self.output = output_layer("seq2seq", design.copy, *widths, sizes, decoder=reader)
        if design.tie != "none":
            tie(self.output, self.target, "seq2seq.tie")
        if design.tie == "all":
            self.source.table = self.target.table

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch source encoded"], Bool[Tensor, "batch source"]]:
        encoded, keep, _ = self._encode(source, lengths)
        return encoded, keep

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        before = self.start(source, source_lengths)
        decoded, query = self.decoder(self.target(target), before)
        return self.output.gathered(self._shown(decoded, query), before.pointed)

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> Carried:
        source, lengths = given(source, source_lengths)
        encoded, keep, final = self._encode(source, lengths)
        reader = self.decoder.cross
        memory = None if reader is None else reader.remember(encoded, keep)
        pointer = self._pointer
        if pointer is None or reader is None or memory is None:
            pointed = self.output.remember(source, encoded, keep)
        else:
            pointed = pointer.point(source, keep, reader, memory)
        return replace(self.decoder.start(self.bridge(final), memory), pointed=pointed)

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], Carried]:
        before = fitting(state, Carried, token)
        hidden, after = self.decoder.advance(self.target(token[:, None])[:, 0], before)
        return self.output.predict(self._shown(hidden, self.decoder.query_of(before, after)), before.pointed), after

    def _shown(self, decoded: Tensor, query: Tensor) -> Tensor:
        """What the output sees: decoded states and, if it copies with the decoder's attention, those that attended."""
        decoded = self.dropout(decoded)
        return decoded if self._pointer is None else torch.cat([decoded, query], dim=-1)

    @property
    def _pointer(self) -> PointerGenerator | None:
        """The output, if it copies with the decoder's attention."""
        return self.output if isinstance(self.output, PointerGenerator) and self.output.cross is None else None

    def _encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, States]:
        """The encoded source, where it is not padding, and the encoder's last states."""
        at = positions_of(source.shape[1], source)
        encoded, final = self.encoder(self.source(source), lengths=lengths)
        return encoded, Padding(lengths)(at[:1], at)[:, 0, 0], final
