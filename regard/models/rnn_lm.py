"""A recurrent language model, which may attend to its own earlier states.

    h(t) = f(W_h h(t-1) + W_e c(t) + b₁),  ŷ(t) = softmax(W₂ h(t) + b₂)

With attention, h(t) queries h(1), …, h(t-1), and the context it reads is joined with it before the output; at t = 1 the
context is zero. Mikolov et al., 2010; Daniluk et al., 2017, https://arxiv.org/abs/1702.04521
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.masks.causal import Causal
from regard.attention.memory import PairMemory
from regard.attention.part import positions_of
from regard.layers.activation import Activation
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding, tie
from regard.layers.output import LinearOutput
from regard.layers.reader import Combine, Joining, SingleHead
from regard.layers.rnn import Cell, Rnn, States
from regard.models.model import Design, weights_in
from regard.models.writer import State, Writer, fitting


@dataclass(frozen=True, kw_only=True)
class RnnLm(Design):
    """Settings of a recurrent language model."""

    cell: Cell = "lstm"
    """the recurrent cell: elman (a plain RNN), lstm or gru"""
    activation: Activation = "tanh"
    """the activation of an elman cell"""
    layers: int = 1
    """the number of recurrent layers"""
    width: int = 256
    """the width of the hidden states"""
    embedding: int | None = None
    """the width of token embeddings; by default `width`"""
    attention: SingleHead | None = None
    """how a state attends to earlier ones, if it does"""
    combine: Combine = "tanh"
    """how state and context are joined"""
    tie: Literal["none", "target"] = "none"
    """weight tying: whether output and embedding share one matrix"""
    dropout: float = 0.0
    """applies to embeddings, between layers and before the output"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"cell": "gru", "width": 128},
        "small": {"cell": "lstm", "layers": 2, "width": 512, "tie": "target", "dropout": 0.3},
        "attentive": {"cell": "lstm", "width": 256, "attention": {"score": "bilinear"}, "dropout": 0.2},
    }

    needs: ClassVar[tuple[str, ...]] = ("text",)

    def build(self, sizes: Mapping[str, int]) -> "RnnLmModel":
        return RnnLmModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        pairs = 0.0 if self.attention is None else (self.attention.width or self.width) * length
        return 0.0, weights_in(model.decoder, model.output) + pairs


@dataclass(frozen=True, kw_only=True)
class Past(State):
    """The current states of the cells, and the memory of all earlier states."""

    states: States
    memory: PairMemory | None = None

    def pick_rows(self, rows: Tensor) -> Self:
        memory = None if self.memory is None else self.memory.reorder(rows)
        return replace(self, states=tuple(state[:, rows] for state in self.states), memory=memory)

    def pick_sentences(self, sentences: Tensor) -> Self:
        return self


class RnnDecoder(nn.Module):
    """The recurrent cells, and attention to their earlier states."""

    def __init__(self, design: RnnLm, embedding: int) -> None:
        super().__init__()
        width = design.width
        self.rnn = Rnn(
            design.cell, embedding, width, design.layers, dropout=design.dropout, activation=design.activation
        )
        self.self_attention = None if design.attention is None else design.attention.build(width, width)
        reader = self.self_attention
        self.joining = None if reader is None else Joining(width, reader.value_width, design.combine)
        self.width = width if self.joining is None else self.joining.width

    def forward(self, x: Float[Tensor, "batch length embedding"]) -> Float[Tensor, "batch length width"]:
        """All positions at once; none attends to itself or to later ones."""
        states, _ = self.rnn(x)
        if self.self_attention is None or self.joining is None:
            return states
        at = positions_of(x.shape[1], x)
        # the query at t sees the keys up to t - 1, as if it stood there
        read = self.self_attention(states, states, keep=Causal(), at=at - 1, source_at=at)
        return self.joining(states, read)

    def start(self, rows: int) -> Past:
        """The state before the first token."""
        memory = None if self.self_attention is None else self.self_attention.start()
        return Past(sentences=rows, states=self.rnn.zeros(rows), memory=memory)

    def advance(self, x: Float[Tensor, "rows embedding"], before: Past) -> tuple[Float[Tensor, "rows width"], Past]:
        """One step."""
        top, states = self.rnn(x[:, None], before.states)
        memory = before.memory
        if self.self_attention is None or self.joining is None or memory is None:
            return top[:, 0], replace(before, states=states)
        read = self.self_attention.read(top, memory)
        memory = self.self_attention.remember(top, memory=memory)
        return self.joining(top, read)[:, 0], replace(before, states=states, memory=memory)


class RnnLmModel(Writer):
    """Embedding, recurrent decoder and output."""

    def __init__(self, design: RnnLm, vocabulary: int) -> None:
        super().__init__()
        embedding = design.embedding or design.width
        self.target = Embedding(vocabulary, embedding, dropout=design.dropout)
        self.decoder = RnnDecoder(design, embedding)
        self.dropout = Dropout(design.dropout)
        self.output = LinearOutput(self.decoder.width, vocabulary)
        if design.tie == "target":
            tie(self.output, self.target, "rnn_lm.tie")

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        decoded: Tensor = self.dropout(self.decoder(self.target(target)))
        return decoded

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None = None,
        source_lengths: Int[Tensor, "sentences"] | None = None,
        rows: int = 1,
    ) -> Past:
        return self.decoder.start(rows)

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], Past]:
        before = fitting(state, Past, token)
        hidden, after = self.decoder.advance(self.target(token[:, None])[:, 0], before)
        return self.output(self.dropout(hidden)), after
