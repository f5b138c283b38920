"""A Transformer decoder whose steps are compiled: all layers in one call, with the results of the packed decoder.

`compiled(model)` gives the compiled stacks of a model that the packed decoder supports, or None where some part is
not compiled: LayerNorm, plain feed-forward layers, as many key heads as heads, float32 on a CPU. Weights are packed
once, and again when they have changed.
"""

import ctypes
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
from typing import Any, Self
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float, Int, Int32
from torch import Tensor, nn

from regard.attention.position import Position, PositionVectors
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.decoding.packed.plain import Packed
from regard.decoding.packed.layer import attention_scale
from regard.decoding.words import ListedOutput
from regard.layers.embedding import Embedding
from regard.layers.feeds.plain import FeedForward
from regard.layers.inference.int8 import Int8Linear
from regard.layers.stack import Stack
from regard.models.gpt import GptModel
from regard.models.transformer import TransformerModel
from regard.models.writer import State, fitting
from regard.native.kernels import Kernels, kernels
from regard.native.structures import (
    ACTIVATION_CODES,
    AttentionWeights,
    LayerWeights,
    LinearWeights,
    NormWeights,
    Packer,
    StackWeights,
)
from regard.native.transformer import CompiledStack, SourcePairs, Steps

_made: "WeakKeyDictionary[nn.Module, tuple[tuple[Any, ...], CompiledModel | None]]" = WeakKeyDictionary()
_lock = Lock()
_WAVES = 64


class CompiledModel:
    """The stacks of a model with packed weights."""

    def __init__(self, native: Kernels, model: TransformerModel | GptModel) -> None:
        self.native, self._packer = native, Packer(native.lanes)
        self.decoder = self._stack(model.decoder, model.target)
        self.encoder = self._stack(model.encoder, model.source) if isinstance(model, TransformerModel) else None
        self._model, self._output = model.output, None

    @property
    def wide(self) -> int:
        """The outputs of a panel."""
        return self._packer.wide

    def output(self) -> LinearWeights:
        """The output layer, which is packed when it is first asked for."""
        with _lock:
            if self._output is None:
                self._output = self._linear(self._model)
            return self._output

    def _stack(self, stack: Stack, embedding: Embedding) -> CompiledStack:
        blocks, table = stack.blocks, embedding.table.weight
        layers = (LayerWeights * len(blocks))(*(self._layer(block) for block in blocks))
        before = blocks[0].residual.place == "before"
        return CompiledStack(
            self.native,
            StackWeights(
                layers=layers,
                table=self._packer.pointer(table.detach()),
                count=len(blocks),
                width=table.shape[1],
                heads=blocks[0].self_attention.heads,
                hidden=blocks[0].feedforward.inner.out_features,
                reads=blocks[0].cross is not None,
                before=before,
                activation=ACTIVATION_CODES[blocks[0].feedforward.activation],
                scale=embedding.scale,
                last=self._norm(stack.norm) if before else NormWeights(),
            ),
            self._packer,
        )

    def _layer(self, block: Any) -> LayerWeights:
        own, cross, feed = block.self_attention, block.cross, block.feedforward
        joint, width = own.projections.joint, own.projections.split[0]
        made = LayerWeights(
            own=AttentionWeights(
                query=self._linear(joint, 0, width),
                pair=self._linear(joint, width, 3 * width),
                merge=self._linear(own.output),
                norm=self._norm(block.norms["self_attention"]),
                scale=attention_scale(own),
            ),
            inner=self._linear(feed.inner),
            outer=self._linear(feed.outer),
            norm=self._norm(block.norms["feedforward"]),
        )
        if cross is not None:
            made.source = AttentionWeights(
                query=self._linear(cross.projections.query),
                pair=self._linear(cross.projections.source),
                merge=self._linear(cross.output),
                norm=self._norm(block.norms["cross"]),
                scale=attention_scale(cross),
            )
        return made

    def _linear(self, linear: nn.Linear, start: int = 0, end: int | None = None) -> LinearWeights:
        bias = None if linear.bias is None else linear.bias[start:end]
        return self._packer.linear(linear.weight[start:end], bias)

    def _norm(self, norm: Any) -> NormWeights:
        return self._packer.norm(norm.normalized_shape[0], norm.weight, norm.bias, norm.eps)


def compiled(model: TransformerModel | GptModel) -> CompiledModel | None:
    """The compiled stacks of a model that is `packable`; None where torch computes."""
    native = kernels()
    if native is None:
        return None
    with _lock:
        state = _weights_now(model, native)
        before, made = _made.get(model, (None, None))
        if before != state:
            with torch.inference_mode():
                made = CompiledModel(native, model) if compilable(model, native.lanes) else None
            _made[model] = (state, made)
    return made


def _weights_now(model: nn.Module, native: Kernels) -> tuple[Any, ...]:
    """What changes when weights change: where they are, how often they were written to, and some of them."""
    tensors = [weight for weight in (*model.parameters(), *model.buffers()) if weight.dtype == torch.float32 and weight.device.type == "cpu"]
    addresses = [weight.data_ptr() for weight in tensors]
    versions = tuple(0 if weight.is_inference() else weight._version for weight in tensors)
    sizes = [weight.numel() if weight.is_contiguous() else 0 for weight in tensors]
    count = len(tensors)
    mark = native.library.fingerprint((ctypes.c_void_p * count)(*addresses), (ctypes.c_int64 * count)(*sizes), count)
    return native, tuple(addresses), versions, mark


def compilable(model: TransformerModel | GptModel, lanes: int) -> bool:
    """Whether every part of a packable model is compiled."""
    tensors = [*model.parameters(), *model.buffers()]
    if any(one.dtype != torch.float32 or one.device.type != "cpu" for one in tensors):
        return False
    if any(type(part) is Int8Linear for part in model.modules()):
        return False
    stacks = [(model.decoder, model.target)]
    if isinstance(model, TransformerModel):
        stacks.append((model.encoder, model.source))
    return all(_is_plain(stack, embedding, lanes) for stack, embedding in stacks)


def _is_plain(stack: Stack, embedding: Embedding, lanes: int) -> bool:
    width = embedding.table.weight.shape[1]
    first: Any = stack.blocks[0]
    for block in stack.blocks:
        attentions: list[Any] = [block.self_attention, *([block.cross] if block.cross is not None else [])]
        feed: Any = block.feedforward
        same = (feed.inner.out_features, feed.activation) == (first.feedforward.inner.out_features, first.feedforward.activation)
        if type(feed) is not FeedForward or not same or feed.activation not in ACTIVATION_CODES:
            return False
        if feed.outer.out_features != width or any(type(norm) is not nn.LayerNorm for norm in block.norms.values()):
            return False
        for one in attentions:
            if list(one.projections.split) != [width] * 3 or one.heads != first.self_attention.heads:
                return False
            if one.key_heads != one.heads or width % (one.heads * lanes) or type(one.reading.positions) is not Position:
                return False
    return embedding.table.weight.is_contiguous() and type(stack.norm) in (nn.LayerNorm, nn.Identity)


@dataclass(frozen=True, kw_only=True)
class CompiledState(State):
    """The keys and values of all steps, and which of them are each hypothesis' past."""

    steps: tuple[Float[Tensor, "layers _ pair"], ...] = ()
    ancestry: Int32[Tensor, "rows steps"]
    """the row of each earlier step that a hypothesis continues"""
    source: SourcePairs | None = None
    listed: ListedOutput | None = None

    def pick_rows(self, rows: Int[Tensor, "rows"]) -> Self:
        return replace(self, ancestry=self.ancestry[rows])

    def pick_sentences(self, sentences: Int[Tensor, "kept"]) -> Self:
        return replace(
            self,
            source=None if self.source is None else self.source.pick(sentences),
            listed=None if self.listed is None else self.listed.pick(sentences),
        )


class Compiled(Packed):
    """The packed decoder with compiled steps: where one thread computes, without gradients."""

    def __init__(self, model: TransformerModel | GptModel, stacks: CompiledModel, words: Any = None) -> None:
        super().__init__(model, words)
        self.stacks = stacks
        self._space = torch.empty(0)

    def start(self, source: Tensor | None, source_lengths: Tensor | None, rows: int = 1) -> Any:
        if torch.is_grad_enabled() or torch.get_num_threads() > 1:
            return super().start(source, source_lengths, rows)
        read = None
        if self.stacks.encoder is not None and source is not None and source_lengths is not None:
            rows = len(source)
            read = self._read(self.stacks.encoder, source, source_lengths)
        ancestry = torch.empty(rows, 0, dtype=torch.int32)
        listed = None if self._words is None else ListedOutput.of(self.model.output, self._words)
        return CompiledState(sentences=rows, ancestry=ancestry, source=read, listed=listed)

    def _read(self, encoder: CompiledStack, source: Tensor, lengths: Tensor) -> SourcePairs:
        """Encode the source, without its padding, and project its keys and values."""
        longest = source.shape[1]
        model: Any = self.model
        tokens = source[torch.arange(longest) < lengths[:, None]].contiguous()
        if int(tokens.max()) >= model.source.table.num_embeddings or int(tokens.min()) < 0:
            raise IndexError("index out of range in self")
        length = lengths.long().contiguous()
        first = length.cumsum(0).sub_(length)
        places = position_vectors(model.source, longest)
        encoded = encoder.encode(tokens, first, length, places, longest)
        return SourcePairs(self.stacks.decoder.remember(encoded), first, length, longest)

    def advance(self, token: Tensor, before: Any) -> tuple[Float[Tensor, "rows width"], Any]:
        if not isinstance(before, CompiledState):
            return super().advance(token, before)
        decoder, rows = self.stacks.decoder, len(token)
        token = token.clamp(0, self.model.output.out_features - 1).contiguous()
        steps = Steps(before.steps)
        new = decoder.pairs(rows)
        steps.add(new)
        keys = max(steps.last + 1, 0 if before.source is None else before.source.longest)
        made = torch.empty(rows, decoder.width)
        places = position_vectors(self._embedding, steps.last + 1)
        place = None if places is None else places[steps.last]
        ancestry = before.ancestry.contiguous()
        decoder.decode(token, before.sentences, place, steps, ancestry, before.source, decoder.space(rows, keys), made)
        own = torch.arange(rows, dtype=torch.int32)[:, None]
        return made, replace(before, steps=(*before.steps, new), ancestry=torch.cat([ancestry, own], 1))

    def step(self, token: Int[Tensor, "rows"], state: State) -> tuple[Float[Tensor, "rows vocabulary"], Any]:
        if not isinstance(state, CompiledState):
            return super().step(token, state)
        x, after = self.advance(token, fitting(state, CompiledState, token))
        return self._output(x) if after.listed is None else after.listed(x), after


def position_vectors(embedding: Embedding, count: int) -> Float[Tensor, "count width"] | None:
    """The vectors that are added to the embeddings of the first positions; None where there are none."""
    positions, width = embedding.positions, embedding.table.weight.shape[1]
    if isinstance(positions, Sinusoidal):
        return _waves(positions, count + -count % _WAVES, width)[:count]
    if isinstance(positions, PositionVectors):
        return positions.vectors(torch.arange(count), width).contiguous()
    return None


@lru_cache(maxsize=64)
def _waves(positions: Sinusoidal, count: int, width: int) -> Tensor:
    with torch.inference_mode(False):
        return positions.vectors(torch.arange(count), width).float().contiguous()
