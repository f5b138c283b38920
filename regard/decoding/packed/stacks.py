"""The weights of a Transformer or GPT for its compiled steps, packed once.

Compiled are models that the packed decoder supports, with LayerNorm, plain feed-forward layers and as many key heads as
heads, in float32 on a CPU.
"""

from threading import Lock
from typing import Any

import torch
from torch import nn

from regard.attention.position import Position
from regard.decoding.packed.layer import attention_scale
from regard.layers.embedding import Embedding
from regard.layers.feeds.plain import FeedForward
from regard.layers.inference.int8 import Int8Linear
from regard.layers.stack import Stack
from regard.models.gpt import GptModel
from regard.models.transformer import TransformerModel
from regard.native.compiled_layers import CompiledStack
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

    def __init__(self, native: Kernels, model: TransformerModel | GptModel) -> None:
        self.native, self._packer = native, Packer(native.lanes)
        self.decoder = self._stack(model.decoder, model.target)
        self.encoder = self._stack(model.encoder, model.source) if isinstance(model, TransformerModel) else None
        self._last: nn.Linear = model.output
        self._output: LinearWeights | None = None
        self._lock = Lock()

    @property
    def wide(self) -> int:
        """The outputs of a panel."""
        return self._packer.wide

    def output(self) -> LinearWeights:
        """The output layer, which is packed when it is first asked for."""
        with self._lock:
            if self._output is None:
                self._output = self._linear(self._last)
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
    heads, hidden = first.self_attention.heads, first.feedforward.inner.out_features
    return (
        embedding.table.weight.is_contiguous()
        and type(stack.norm) in (nn.LayerNorm, nn.Identity)
        and width % (heads * lanes) == 0
        and all(_is_plain_layer(block, width, heads, hidden, first.feedforward.activation) for block in stack.blocks)
    )


def _is_plain_layer(block: Any, width: int, heads: int, hidden: int, activation: str) -> bool:
    """Whether a layer has the parts and sizes that are compiled."""
    own, cross, feed = block.self_attention, block.cross, block.feedforward
    attentions = [own] if cross is None else [own, cross]
    if type(feed) is not FeedForward or feed.activation != activation or activation not in ACTIVATION_CODES:
        return False
    if any(type(norm) is not nn.LayerNorm or norm.normalized_shape != (width,) for norm in block.norms.values()):
        return False
    if any(one.heads != heads or one.key_heads != heads for one in attentions):
        return False
    if any(type(one.reading.positions) is not Position for one in attentions):
        return False
    sizes = [(own.projections.joint, 3 * width, width), (feed.inner, hidden, width), (feed.outer, width, hidden)]
    sizes += [(one.output, width, width) for one in attentions]
    if cross is not None:
        sizes += [(cross.projections.query, width, width), (cross.projections.source, 2 * width, width)]
    return all(linear.weight.shape == (outputs, inputs) for linear, outputs, inputs in sizes) and all(
        list(one.projections.split) == [width] * 3 for one in attentions
    )
