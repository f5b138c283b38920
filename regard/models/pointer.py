"""Pointer network: attention weights over the input are the output.

    (e_1 … e_n) = encoder(x_1 … x_n),  d_t = decoder(e_{c_1} … e_{c_{t-1}}; e)
    P(c_t = j) = softmax_j score(d_t, e_j)             additive: v · tanh(W₁ e_j + W₂ d_t)

Beside the input's positions there is an end, e_0, which is learned. Vinyals et al., 2015,
https://arxiv.org/abs/1506.03134. Encoder and decoder are layers of self-attention, or of the recurrent cells of the
paper with `mixer`. With self-attention, which has no positions here, permuting the input permutes the output.
Coordinates may be given as waves too, sin and cos of 2ᵏπx (Tancik et al., 2020, https://arxiv.org/abs/2006.10739):
then near points can be told apart.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.core import logits_of
from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.attention.multihead import Attention
from regard.attention.part import positions_of
from regard.attention.score import SCORES
from regard.data.pointing import ENDING
from regard.layers.block import Block
from regard.layers.feeds.plain import Plain
from regard.layers.mixer import MIXERS, Mixer
from regard.layers.mixers.self_attention import SelfAttention
from regard.layers.reader import SingleHead
from regard.layers.residual import Residual
from regard.layers.stack import Stack
from regard.layers.waves import waves
from regard.models.model import Design, Encoder, weights_in
from regard.models.writer import LayerState, State, fitting


@dataclass(frozen=True, kw_only=True)
class Pointer(Design):
    """Settings of a pointer network."""

    width: int = 128
    """the width of hidden states"""
    heads: int = 8
    """the number of attention heads"""
    encoder_layers: int = 3
    """the number of layers of the encoder"""
    decoder_layers: int = 2
    """the number of layers of the decoder"""
    feedforward: int | None = None
    """the inner width of the feed-forward layers; by default four times `width`"""
    mixer: Annotated[Any, MIXERS] = "self_attention"
    """the layer that mixes positions: self_attention, or recurrent as in the paper"""
    score: Annotated[Any, SCORES] = "additive"
    """how well a position answers the decoder's state"""
    frequencies: int = 8
    """how many octaves of waves, sin and cos of 2ᵏπx with k = 0, 1, …, are given beside each coordinate x"""
    dropout: float = 0.0
    """applies to each branch"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "vinyals": {
            "mixer": {"name": "recurrent", "cell": "lstm"}, "width": 256, "encoder_layers": 1, "decoder_layers": 1,
        },
    }  # fmt: skip
    needs: ClassVar[tuple[str, ...]] = ("coordinates",)

    def build(self, sizes: Mapping[str, int]) -> "PointerModel":
        return PointerModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        pairs = 2 * self.width * length
        of_source = weights_in(model.inputs, model.encoder) + pairs * self.encoder_layers
        return of_source, weights_in(model.decoder) + 2 * pairs * self.decoder_layers + pairs

    def stack(self, layers: int, *, reads: bool) -> Stack:
        """The encoder's layers, or those of the decoder, which read the encoder's outputs and see the past alone."""
        mixer: Attention | Mixer = self.mixer.causal() if reads else self.mixer
        if isinstance(mixer, SelfAttention):
            mixer = Attention(heads=self.heads, mask=Causal() if reads else None)
        return Stack.of(
            layers,
            lambda at: Block(
                self.width,
                mixer=mixer.in_layer(at) if isinstance(mixer, Mixer) else mixer,
                cross=Attention(heads=self.heads) if reads else None,
                feed=Plain(hidden=self.feedforward),
                residual=Residual(dropout=self.dropout),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class PointingState(LayerState):
    """The decoder's state, and of each input the vectors of its choices (the end first) and which are no padding."""

    table: Float[Tensor, "sentences choices width"]
    real: Bool[Tensor, "sentences choices"]

    def pick_sentences(self, sentences: Tensor) -> Self:
        return replace(super().pick_sentences(sentences), table=self.table[sentences], real=self.real[sentences])


class PointerModel(Encoder):
    """Encoder, decoder, and the attention whose weights are the output."""

    def __init__(self, design: Pointer, coordinates: int) -> None:
        super().__init__()
        self.frequencies = design.frequencies
        self.inputs = nn.Linear(coordinates * (1 + 2 * design.frequencies), design.width)
        self.encoder = design.stack(design.encoder_layers, reads=False)
        self.decoder = design.stack(design.decoder_layers, reads=True)
        self.first, self.end = (nn.Parameter(torch.randn(design.width) * design.width**-0.5) for _ in range(2))
        self.pointer = SingleHead(score=design.score).build(design.width, design.width)

    def encode(
        self, points: Float[Tensor, "batch points coordinates"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch points width"], Bool[Tensor, "batch points"]]:
        """The features of each point, and where there is one."""
        at = positions_of(points.shape[1], points)
        keep = Padding(lengths)(at[:1], at)
        return self.encoder(self.inputs(waves(points, self.frequencies)), keep=keep), keep[:, 0, 0]

    def forward(
        self,
        points: Float[Tensor, "batch points coordinates"],
        lengths: Int[Tensor, "batch"],
        choices: Int[Tensor, "batch steps"],
    ) -> Float[Tensor, "batch steps choices"]:
        """The logits of each step's choice, given the true ones before it (teacher forcing); padding is -inf."""
        table, keep = self._table(points, lengths)
        before = choices[:, :-1].clamp(min=ENDING)
        chosen = table.gather(1, before[:, :, None].expand(-1, -1, table.shape[2]))
        x = torch.cat((self.first.expand(len(table), 1, -1), chosen), 1)
        hidden = self.decoder(x, source=table[:, 1:], source_keep=keep[:, None, None, 1:])
        return self._logits(hidden, table, keep)

    def start(
        self, points: Float[Tensor, "sentences points coordinates"], lengths: Int[Tensor, "sentences"]
    ) -> PointingState:
        """Encode the points; returns the state before the first choice."""
        table, keep = self._table(points, lengths)
        sources = self.decoder.remember(table[:, 1:], keep[:, 1:])
        memories = self.decoder.start()
        return PointingState(sentences=len(table), memories=memories, sources=sources, table=table, real=keep)

    def step(self, chosen: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows choices"], PointingState]:
        """Read the last choice of each row; the logits of the next, and the new state. The first step reads none."""
        before = fitting(state, PointingState, chosen)
        rows, width = len(chosen), before.table.shape[2]
        at = chosen.reshape(before.sentences, -1, 1).expand(-1, -1, width)
        x = before.table.gather(1, at).reshape(rows, 1, width) if before.length else self.first.expand(rows, 1, -1)
        x, memories = self.decoder.advance(x, before.memories, before.sources, before.sentences)
        logits = self._logits(x.reshape(before.sentences, -1, width), before.table, before.real)
        return logits.reshape(rows, -1), replace(before, length=before.length + 1, memories=memories)

    def _table(self, points: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of all choices: the end, then the encoded points."""
        encoded, keep = self.encode(points, lengths)
        end = self.end.expand(len(encoded), 1, -1)
        return torch.cat((end, encoded), 1), torch.cat((torch.ones_like(keep[:, :1]), keep), 1)

    def _logits(self, hidden: Tensor, table: Tensor, keep: Tensor) -> Tensor:
        key = table[:, None]
        logits, _ = logits_of(self.pointer.reading.call(hidden[:, None], key, key))
        return logits[:, 0].masked_fill(~keep[:, None], -math.inf)
