"""Deep-Att: deep recurrent networks with fast-forward connections and layers that read in turns from left and right.

    layer k:  fᵏ = Wᵏ [fᵏ⁻¹; hᵏ⁻¹],  hᵏ = rnn(fᵏ)           f passes by the recurrent layers: the fast-forward path
    encoder:  two columns of layers; the first layer of one reads forward, that of the other backward, and each layer
              the other way than the one below;  e = W [h; f of one column; h; f of the other]
    decoder:  c_t = attention(h¹_{t-1}, e),  f¹_t = W¹ [y_{t-1}; c_t],  layers above as in the encoder, all forward
    P(y_t) = softmax(W_o [h_t; f_t] + b)

Zhou et al., Deep Recurrent Models with Fast-Forward Connections for Neural Machine Translation, 2016,
https://arxiv.org/abs/1606.04199. Their f has the width of the gates; here f and h have one width, and the recurrent
layer has its own matrix for its input.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention.memory import Memory
from regard.layers.dropout import Dropout
from regard.layers.mixer import MixerState
from regard.layers.mixers.recurrent import HiddenState
from regard.layers.pointer_generator import Copying
from regard.layers.reader import Reader, SingleHead
from regard.layers.rnn import Cell, Rnn
from regard.models.gnmt import DeepRecurrentModel
from regard.models.model import Design, weights_in


@dataclass(frozen=True, kw_only=True)
class DeepAtt(Design):
    """Settings of a deep recurrent encoder-decoder with fast-forward connections.

    | preset | layers | width | dropout | from                 |
    |--------|--------|-------|---------|----------------------|
    | tiny   | 3 + 2  | 128   | 0.2     | a size for Multi30k  |
    | base   | 9 + 7  | 512   | 0.1     | Zhou et al., 2016    |
    """

    cell: Cell = "lstm"
    """the recurrent cell: elman (a plain RNN), lstm or gru"""
    width: int = 512
    """the width of states and of the fast-forward path"""
    embedding: int | None = None
    """the width of token embeddings; by default `width`"""
    encoder_layers: int = 9
    """the number of layers of each of the encoder's two columns"""
    decoder_layers: int = 7
    """the number of layers of the decoder"""
    attention: SingleHead = field(default_factory=lambda: SingleHead(score="additive"))
    """attention of the first decoder layer over the encoder's states"""
    copy: Copying | None = None
    """a pointer-generator output, which also copies words of the source; none: words are only written"""
    dropout: float = 0.1
    """applies to embeddings, to the inputs of recurrent layers and before the output"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"width": 128, "encoder_layers": 3, "decoder_layers": 2, "dropout": 0.2},
        "base": {},
    }

    def build(self, sizes: Mapping[str, int]) -> "DeepAttModel":
        return DeepAttModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        pairs = 2 * model.decoder.cross.value_width * length
        return weights_in(model.encoder), weights_in(model.decoder, model.output) + pairs


class FastForward(nn.Module):
    """One layer: f = W x, h = rnn(f); the next layer reads [f; h]."""

    def __init__(self, design: DeepAtt, input_width: int) -> None:
        super().__init__()
        self.map = nn.Linear(input_width, design.width, bias=False)
        self.rnn = Rnn(design.cell, design.width, design.width)
        self.dropout = Dropout(design.dropout)

    def forward(
        self, x: Float[Tensor, "batch length input_width"], before: Any = None, lengths: Tensor | None = None
    ) -> tuple[Float[Tensor, "batch length both"], HiddenState]:
        """[f; h] at each position, and the state after the last."""
        passed = self.map(x)
        states = None if before is None else before.states
        hidden, after = self.rnn(self.dropout(passed), states, lengths)
        return torch.cat([passed, hidden], dim=-1), HiddenState(after)


class DeepAttEncoder(nn.Module):
    """Two columns of layers with interleaved directions."""

    def __init__(self, design: DeepAtt, embedding: int) -> None:
        super().__init__()
        widths = [embedding, *[2 * design.width] * (design.encoder_layers - 1)]
        self.columns = nn.ModuleList(nn.ModuleList(FastForward(design, width) for width in widths) for _ in range(2))
        self.map = nn.Linear(4 * design.width, design.width)
        self.width = design.width

    def forward(
        self, x: Float[Tensor, "batch length embedding"], lengths: Int[Tensor, "batch"]
    ) -> Float[Tensor, "batch length width"]:
        """The encoded source; padding is not read."""
        ends = []
        for number in range(2):
            column: Any = self.columns[number]
            y = x
            for at, layer in enumerate(column):
                if (at + number) % 2:
                    y = turned(layer(turned(y, lengths), lengths=lengths)[0], lengths)
                else:
                    y = layer(y, lengths=lengths)[0]
            ends.append(y)
        encoded: Tensor = self.map(torch.cat(ends, dim=-1))
        return encoded


def turned(
    x: Float[Tensor, "batch length width"], lengths: Int[Tensor, "batch"]
) -> Float[Tensor, "batch length width"]:
    """Each sequence backward; its padding stays where it is."""
    at = torch.arange(x.shape[1], device=x.device)
    ends = lengths.to(x.device)[:, None]
    order = torch.where(at < ends, ends - 1 - at, at)
    return x.gather(1, order[:, :, None].expand_as(x))


class DeepAttDecoder(nn.Module):
    """The first layer attends with its last state, step by step; those above go through all steps at once."""

    def __init__(self, design: DeepAtt, embedding: int, source_width: int) -> None:
        super().__init__()
        self.cross: Reader = design.attention.build(design.width, source_width)
        widths = [embedding + self.cross.value_width, *[2 * design.width] * (design.decoder_layers - 1)]
        self.layers = nn.ModuleList(FastForward(design, width) for width in widths)
        self.width = 2 * design.width

    def start(self, rows: int) -> tuple[MixerState, ...]:
        """The states before the first token: zeros in the first layer, since it attends with them."""
        first = self.layers[0].rnn.zeros(rows)  # type: ignore[union-attr, operator]
        return HiddenState(first), *[HiddenState()] * (len(self.layers) - 1)

    def forward(
        self,
        x: Float[Tensor, "rows length embedding"],
        before: tuple[Any, ...],
        source: Memory,
        sentences: int,
    ) -> tuple[Float[Tensor, "rows length both"], tuple[MixerState, ...]]:
        """The next positions, one or many, and the states after them; neighboring rows share a source."""
        state, steps = before[0], []
        for token in x.unbind(1):
            query = state.states[0][-1]
            context = self.cross.read(query.reshape(sentences, -1, query.shape[1]), source).reshape(len(x), -1)
            made, state = self.layers[0](torch.cat([token, context], dim=-1)[:, None], state)
            steps.append(made)
        y, after = torch.cat(steps, dim=1), [state]
        for layer, memory in zip(list(self.layers)[1:], before[1:], strict=True):
            y, state = layer(y, memory)
            after.append(state)
        return y, tuple(after)


class DeepAttModel(DeepRecurrentModel):
    """Embeddings, encoder, decoder and output."""

    def __init__(self, design: DeepAtt, source_vocabulary: int, target_vocabulary: int) -> None:
        embedding, sizes = design.embedding or design.width, (source_vocabulary, target_vocabulary)
        encoder = DeepAttEncoder(design, embedding)
        decoder = DeepAttDecoder(design, embedding, encoder.width)
        super().__init__("deep_att", sizes, embedding, encoder, decoder, design.copy, design.dropout)
