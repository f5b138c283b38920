"""The weights of a Transformer, T5 or GPT for its compiled steps, packed once.

Compiled are models that the packed decoder supports, in float32 on a CPU, with weights that stand in memory as they
are read: with LayerNorm or RMSNorm, plain or gated feed-forward layers, key heads that are shared or not, and positions
that are added, rotary in halves, or biases by distance that all layers share, as in T5.
"""

from threading import Lock
from typing import Any

import numpy as np
import torch
from torch import nn

from regard.attention.position import Position
from regard.attention.positions.buckets import BucketTable
from regard.attention.positions.rotary import Rotary
from regard.decoding.packed.layer import attention_scale
from regard.decoding.words import Words
from regard.layers.embedding import Embedding
from regard.layers.feeds.gated import GatedFeedForward
from regard.layers.feeds.plain import FeedForward
from regard.layers.inference.int8 import Int8Linear, quantized
from regard.layers.rms_norm import RmsNorm
from regard.layers.stack import Stack
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.gpt import GptModel
from regard.models.t5 import T5Model
from regard.models.transformer import TransformerModel
from regard.native.compiled_layers import CompiledStack, ListedWords, OutputWeights, bytes_work, products_work
from regard.native.kernels import Kernels
from regard.native.structures import (
    ACTIVATION_CODES,
    AttentionWeights,
    LayerWeights,
    LinearWeights,
    NormWeights,
    Packer,
    StackWeights,
)


class CompiledModel:
    """The stacks of a model with packed weights."""

    def __init__(self, native: Kernels, model: TransformerModel | T5Model | GptModel) -> None:
        self.native, self._packer = native, Packer(native.lanes)
        self.decoder = self._stack(model.decoder, model.target)
        self.encoder = self._stack(model.encoder, model.source) if isinstance(model, EncoderDecoder) else None
        self.turned, self.table = turned_width(model.decoder), position_table(model.decoder)
        self.source_table = position_table(model.encoder) if isinstance(model, EncoderDecoder) else None
        self.places: dict[str, np.ndarray] = {}
        """what positions add, for each side, as far as it was needed so far"""
        self._last: nn.Linear = model.output
        self._output: LinearWeights | None = None
        self._common: tuple[bytes, tuple[LinearWeights, Packer]] | None = None
        self._lock = Lock()

    @property
    def packed_arrays(self) -> list[np.ndarray]:
        """All that the structures point to."""
        return self._packer.kept

    def output(self) -> LinearWeights:
        """The output layer, which is packed when it is first asked for."""
        with self._lock:
            if self._output is None:
                self._output = self._linear(self._last, scale=getattr(self._last, "scale", 1.0))
            return self._output

    def listed(self, words: Words) -> ListedWords:
        """The output layer of a shortlist; the words that all sentences share are packed again only if they change."""
        last, common = self._last, words.tokens[0, : words.common].numpy()
        bias = None if last.bias is None else last.bias.detach().numpy()
        output = OutputWeights(self.native, last.weight.detach().numpy(), bias, getattr(last, "scale", 1.0))
        with self._lock:
            if self._common is None or self._common[0] != common.tobytes():
                self._common = (common.tobytes(), output.packed(common))
            shared = self._common[1]
        return ListedWords(output, shared, words.tokens.contiguous().numpy(), words.own.numpy())

    def _stack(self, stack: Stack, embedding: Embedding) -> CompiledStack:
        blocks, table = stack.blocks, embedding.table.weight
        layers = (LayerWeights * len(blocks))(*(self._layer(block) for block in blocks))
        before = blocks[0].residual.place == "before"
        return CompiledStack(
            self.native,
            StackWeights(
                layers=layers,
                table=self._packer.pointer(table.detach().numpy()),
                count=len(blocks),
                width=table.shape[1],
                heads=blocks[0].self_attention.heads,
                hidden=blocks[0].feedforward.outer.in_features,
                reads=blocks[0].cross is not None,
                before=before,
                activation=ACTIVATION_CODES[blocks[0].feedforward.activation],
                pair=blocks[0].self_attention.projections.split[1],
                rms=type(blocks[0].norms["feedforward"]) is RmsNorm,
                gated=type(blocks[0].feedforward) is GatedFeedForward,
                turned=turned_width(stack),
                biased=position_table(stack) is not None,
                scale=embedding.scale,
                last=self._norm(stack.norm) if before else NormWeights(),
            ),
            self._packer,
        )

    def _layer(self, block: Any) -> LayerWeights:
        own, cross, feed = block.self_attention, block.cross, block.feedforward
        joint, width = own.projections.joint, own.projections.split[0]
        whole = sum(own.projections.split)
        made = LayerWeights(
            own=AttentionWeights(
                query=self._linear(joint, 0, width),
                pair=self._linear(joint, width, whole),
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

    def _linear(self, linear: nn.Linear, start: int = 0, end: int | None = None, scale: float = 1.0) -> LinearWeights:
        bias = None if linear.bias is None else linear.bias[start:end].detach().numpy()
        weight = linear.weight[start:end].detach()
        if type(linear) is Int8Linear:
            whole, own = quantized(weight)
            return self._packer.quantized(whole.numpy(), own.numpy(), bias)
        return self._packer.linear((weight if scale == 1.0 else weight * scale).numpy(), bias)

    def _norm(self, norm: Any) -> NormWeights:
        shift = None if type(norm) is RmsNorm else norm.bias
        epsilon = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps
        gain, shift = (None if side is None else side.detach().numpy() for side in (norm.weight, shift))
        return self._packer.norm(norm.normalized_shape[0], gain, shift, epsilon)


def turned_width(stack: Stack) -> int:
    """How many numbers of each head rotary positions turn; 0 where there are none."""
    attention: Any = stack.blocks[0].self_attention
    positions = attention.reading.positions
    width = attention.projections.split[0] // attention.heads
    return round(width * positions.share) if type(positions) is Rotary else 0


def position_table(stack: Stack) -> BucketTable | None:
    """T5's table of biases by distance; None where positions are not of that kind."""
    attention: Any = stack.blocks[0].self_attention
    positions = attention.reading.positions
    return positions if type(positions) is BucketTable else None


def compilable(model: TransformerModel | T5Model | GptModel, lanes: int) -> bool:
    """Whether every part of a packable model is compiled."""
    tensors = [*model.parameters(), *model.buffers()]
    if not all(one.dtype == torch.float32 and one.device.type == "cpu" and one.is_contiguous() for one in tensors):
        return False
    stacks = [(model.decoder, model.target)]
    if isinstance(model, EncoderDecoder):
        if turned_width(model.encoder):  # the compiled encoder turns nothing
            return False
        stacks.append((model.encoder, model.source))
    return all(_is_plain(stack, embedding, lanes) for stack, embedding in stacks)


def its_products_work(model: nn.Module, native: Kernels) -> bool:
    """Whether the kernels' products of floats, and of bytes where a model has such weights, give the right numbers."""
    in_bytes = any(type(part) is Int8Linear for part in model.modules())
    return products_work(native) and (not in_bytes or bytes_work(native))


def _is_plain(stack: Stack, embedding: Embedding, lanes: int) -> bool:
    width = embedding.table.weight.shape[1]
    first: Any = stack.blocks[0]
    norm = type(first.norms["feedforward"])
    return (
        norm in (nn.LayerNorm, RmsNorm)
        and type(stack.norm) in (norm, nn.Identity)
        and width % (first.self_attention.heads * lanes) == 0
        and _places_are_plain(stack, embedding)
        and all(_is_plain_layer(block, first, norm, width) for block in stack.blocks)
    )


def _places_are_plain(stack: Stack, embedding: Embedding) -> bool:
    """Whether positions are added to embeddings, turn queries and keys in halves, or are one table of biases."""
    own: list[Any] = [block.self_attention.reading.positions for block in stack.blocks]
    if type(own[0]) is BucketTable:
        return all(one is own[0] for one in own) and type(embedding.positions) is Position
    if type(own[0]) is Rotary:
        alike = all(type(one) is Rotary and one == own[0] for one in own) and own[0].pairs == "halves"
        return alike and turned_width(stack) % 2 == 0 and type(embedding.positions) is Position
    return all(type(one) is Position for one in own)


def _is_plain_layer(block: Any, first: Any, norm: type, width: int) -> bool:
    """Whether a layer has the parts and sizes that are compiled, and the same as the first."""
    own, cross, feed = block.self_attention, block.cross, block.feedforward
    attentions, hidden = [own] if cross is None else [own, cross], first.feedforward.outer.in_features
    if type(feed) is not type(first.feedforward) or type(feed) not in (FeedForward, GatedFeedForward):
        return False
    if feed.activation != first.feedforward.activation or feed.activation not in ACTIVATION_CODES:
        return False
    if any((type(one), tuple(one.normalized_shape)) != (norm, (width,)) for one in block.norms.values()):
        return False
    if any(one.heads != first.self_attention.heads for one in attentions):
        return False
    pair = first.self_attention.projections.split[1]
    if cross is not None and (pair != width or type(cross.reading.positions) is not Position):
        return False
    inside = 2 * hidden if type(feed) is GatedFeedForward else hidden
    sizes = [(own.projections.joint, width + 2 * pair, width), (feed.inner, inside, width), (feed.outer, width, hidden)]
    sizes += [(one.output, width, width) for one in attentions]
    if cross is not None:
        sizes += [(cross.projections.query, width, width), (cross.projections.source, 2 * width, width)]
    return all(linear.weight.shape == (outputs, inputs) for linear, outputs, inputs in sizes) and all(
        list(one.projections.split) == [width, pair, pair] for one in attentions
    )
