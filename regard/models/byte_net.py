"""ByteNet: dilated convolutions in encoder and decoder, which is laid over the encoder; no attention, linear time.

    block: x ← x + W₂ r(conv(r(W₁ r(x)))),  r(x) = relu(norm(x)),  W₁: 2d → d, W₂: d → 2d
    dilation of block i: 1, 2, 4, … largest, and again from 1
    encoder: convolutions over both sides of a position, on the source unfolded to |t̂| = ⌈ratio · |source|⌉ + extra
    decoder: convolutions over the past, on W [embedding of y_{t-1}; encoder at position t]
    P(y_t) = softmax(W_o relu(norm(x_t)) + b)

Position t of the decoder stands over position t of the encoder, and over zeros beyond |t̂| (dynamic unfolding). A
decoder of blocks with kernel k sees

    1 + Σ_i (k - 1) · dilation_i

tokens of the past (`receptive_field`). Kalchbrenner et al., Neural Machine Translation in Linear Time, 2016,
https://arxiv.org/abs/1610.10099
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention.masks.padding import Padding
from regard.attention.part import positions_of
from regard.base.errors import check_at_least
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding
from regard.layers.initialize import xavier
from regard.layers.mixers.convolution import LastInputs
from regard.layers.pointer_generator import Copying, output_layer, unknown_word
from regard.models.model import Design, weights_in
from regard.models.writer import LayerState, State, Transducer, fitting, given


@dataclass(frozen=True, kw_only=True)
class ByteNet(Design):
    """Settings of an encoder-decoder of dilated convolutions.

    | preset | layers  | width | kernel | largest dilation | dropout | from                       |
    |--------|---------|-------|--------|------------------|---------|----------------------------|
    | tiny   | 5 + 5   | 256   | 3      | 16               | 0.1     | a size for Multi30k        |
    | base   | 30 + 30 | 1600  | 3      | 16               | 0.0     | Kalchbrenner et al., 2016  |
    """

    width: int = 1600
    """the width of the residual stream, 2d"""
    encoder_layers: int = 30
    """the number of residual blocks of the encoder"""
    decoder_layers: int = 30
    """the number of residual blocks of the decoder"""
    kernel: int = 3
    """how many positions a convolution covers"""
    largest: int = 16
    """the largest dilation; it doubles from block to block up to it, and then starts again at 1"""
    ratio: float = 1.2
    """the source is unfolded to `ratio` · its length + `extra` positions, which the decoder stands over"""
    extra: int = 8
    """positions that the source is unfolded by beyond `ratio`"""
    copy: Copying | None = None
    """a pointer-generator output, which also copies words of the source; none: words are only written"""
    dropout: float = 0.0
    """applies to embeddings and to each block"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "tiny": {"width": 256, "encoder_layers": 5, "decoder_layers": 5, "dropout": 0.1},
        "base": {},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("byte_net", 0, ratio=self.ratio)

    def build(self, sizes: Mapping[str, int]) -> "ByteNetModel":
        return ByteNetModel(self, *self.sizes_from(sizes))

    def dilation(self, block: int) -> int:
        """The dilation of a block, counted from 0."""
        return int(2 ** (block % self.largest.bit_length()))

    def receptive_field(self) -> int:
        """How many tokens of the target a position of the decoder sees, itself included."""
        return 1 + sum((self.kernel - 1) * self.dilation(at) for at in range(self.decoder_layers))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        unfolded = self.ratio + self.extra / length
        return unfolded * weights_in(model.encoder), weights_in(model.decoder, model.enter, model.output)


class DilatedBlock(nn.Module):
    """W₂ r(conv(r(W₁ r(x)))); the outputs of positions whose kernel lies wholly inside."""

    def __init__(self, design: ByteNet, dilation: int) -> None:
        super().__init__()
        half = design.width // 2
        self.reach = (design.kernel - 1) * dilation
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in (design.width, half, half))
        self.enter, self.leave = nn.Linear(design.width, half), nn.Linear(half, design.width)
        self.taps = nn.Conv1d(half, half, design.kernel, dilation=dilation)
        self.dropout = Dropout(design.dropout)
        xavier(self)

    def narrow(self, x: Float[Tensor, "batch length width"]) -> Float[Tensor, "batch length half"]:
        """r(W₁ r(x)), which the convolution reads."""
        inner = self.enter(self.norms[0](x).relu())
        read: Tensor = self.norms[1](inner).relu()
        return read

    def forward(self, read: Float[Tensor, "batch length half"]) -> Float[Tensor, "batch inside width"]:
        """W₂ r(conv(·))."""
        made = self.taps(read.mT).mT
        left: Tensor = self.dropout(self.leave(self.norms[2](made).relu()))
        return left


@dataclass(frozen=True, kw_only=True)
class UnfoldedState(LayerState):
    """The last inputs of each block for every row, and the unfolded source of each sentence."""

    columns: Float[Tensor, "sentences unfolded width"]

    def pick_sentences(self, sentences: Tensor) -> Self:
        return replace(self, columns=self.columns[sentences])


class ByteNetModel(Transducer):
    """Embeddings, encoder, decoder and output."""

    def __init__(self, design: ByteNet, source_vocabulary: int, target_vocabulary: int) -> None:
        super().__init__()
        sizes, width = (source_vocabulary, target_vocabulary), design.width
        beyond = unknown_word(design.copy)
        self.source, self.target = (Embedding(size, width, dropout=design.dropout, beyond=beyond) for size in sizes)
        self.encoder, self.decoder = (
            nn.ModuleList(DilatedBlock(design, design.dilation(at)) for at in range(count))
            for count in (design.encoder_layers, design.decoder_layers)
        )
        self.enter = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.ratio, self.extra = design.ratio, design.extra
        self.output = output_layer("byte_net", design.copy, width, width, sizes)

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch source width"], Bool[Tensor, "batch source"]]:
        at = positions_of(source.shape[1], source)
        keep = Padding(lengths)(at[:1], at)[:, 0, 0]
        columns = self._unfolded(source, lengths)
        missing = source.shape[1] - columns.shape[1]
        return F.pad(columns, (0, 0, 0, max(0, missing)))[:, : source.shape[1]], keep

    def hidden(
        self,
        source: Int[Tensor, "batch source"] | None,
        source_lengths: Int[Tensor, "batch"] | None,
        target: Int[Tensor, "batch target"],
    ) -> Float[Tensor, "batch target width"]:
        before = self.start(source, source_lengths)
        decoded, _ = self._decode(target, before)
        return self.output.gathered(decoded, before.pointed)

    def start(
        self,
        source: Int[Tensor, "sentences source"] | None,
        source_lengths: Int[Tensor, "sentences"] | None,
        rows: int = 1,
    ) -> UnfoldedState:
        source, lengths = given(source, source_lengths)
        columns = self._unfolded(source, lengths)
        at = positions_of(source.shape[1], source)
        keep = Padding(lengths)(at[:1], at)[:, 0, 0]
        encoded = F.pad(columns, (0, 0, 0, max(0, source.shape[1] - columns.shape[1])))[:, : source.shape[1]]
        return UnfoldedState(
            sentences=len(source),
            pointed=self.output.remember(source, encoded, keep),
            memories=(LastInputs(),) * len(self.decoder),
            columns=columns,
        )

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], UnfoldedState]:
        before = fitting(state, UnfoldedState, token)
        decoded, memories = self._decode(token[:, None], before)
        logits = self.output.predict(decoded[:, 0], before.pointed)
        return logits, replace(before, length=before.length + 1, memories=memories)

    def _unfolded(self, source: Tensor, lengths: Tensor) -> Tensor:
        """The encoder over each source, unfolded beyond its end; zeros beyond that."""
        ends = torch.ceil(self.ratio * lengths.double()).long() + self.extra
        x = self.source(source) * (torch.arange(source.shape[1], device=source.device) < lengths[:, None])[:, :, None]
        longest = int(ends.max())
        x = F.pad(x, (0, 0, 0, max(0, longest - x.shape[1])))[:, :longest]
        inside = (torch.arange(longest, device=x.device) < ends[:, None])[:, :, None]
        for block in self.encoder:
            read = block.narrow(x) * inside  # type: ignore[operator]
            ahead = int(block.reach) // 2  # type: ignore[arg-type]
            x = x + block(F.pad(read, (0, 0, int(block.reach) - ahead, ahead)))  # type: ignore[arg-type]
        return x * inside

    def _decode(self, target: Tensor, before: UnfoldedState) -> tuple[Tensor, tuple[LastInputs, ...]]:
        """The next positions, one or many, and the last inputs of each block after them."""
        rows, length = target.shape
        here = slice(before.length, before.length + length)
        above = F.pad(before.columns[:, here], (0, 0, 0, max(0, here.stop - max(here.start, before.columns.shape[1]))))
        above = above.repeat_interleave(rows // len(above), dim=0)
        x = self.enter(torch.cat([self.target(target), above], dim=-1))
        after = []
        for block, memory in zip(self.decoder, before.memories, strict=True):
            read = block.narrow(x)  # type: ignore[operator]
            past = memory.inputs  # type: ignore[attr-defined]
            past = read.new_zeros(rows, block.reach, read.shape[2]) if past is None else past
            seen = torch.cat([past, read], dim=1)
            after.append(LastInputs(seen[:, seen.shape[1] - block.reach :]))  # type: ignore[operator]
            x = x + block(seen)
        made: Tensor = self.norm(x).relu()
        return made, tuple(after)
