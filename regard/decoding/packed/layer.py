"""One Transformer layer of the packed decoder."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention

from regard.attention.multihead import MultiHead
from regard.attention.positions.rotary import Rotary
from regard.base.errors import UsageError
from regard.layers.activation import ACTIVATIONS
from regard.layers.block import Block
from regard.layers.feeds.gated import GatedFeedForward
from regard.layers.output import LinearOutput
from regard.layers.rms_norm import RmsNorm
from regard.native.kernels import kernels


class PackedLayer:
    """The packed computation of a `Block`, with its weights."""

    def __init__(self, block: Block) -> None:
        attention, feedforward = block.self_attention, block.feedforward
        self.heads, self.width = attention.heads, attention.projections.split[0] // attention.heads
        self.key_heads, self._positions = attention.key_heads, attention.reading.positions
        self._scale = attention_scale(attention)
        self._project, self._merge = product(attention.projections.joint), product(attention.output)
        if block.cross is not None:
            self._query, self._source = product(block.cross.projections.query), product(block.cross.projections.source)
            self._merge_read, self._source_scale = product(block.cross.output), attention_scale(block.cross)
        self._inner, self._outer = product(feedforward.inner), product(feedforward.outer)
        self._activate = ACTIVATIONS[feedforward.activation]
        self._gated = type(feedforward) is GatedFeedForward
        self._norms = {name: normalization(norm) for name, norm in block.norms.items()}
        self._before = block.residual.place == "before"

    def remember(self, encoded: Float[Tensor, "sentences source width"]) -> tuple[Tensor, Tensor]:
        """Keys and values of the source, [sentences, heads, source, width]."""
        made = self._source(encoded).unflatten(-1, (2, self.heads, self.width)).permute(2, 0, 3, 1, 4)
        return made[0].contiguous(), made[1].contiguous()

    def read_all(self, x: Float[Tensor, "positions width"], bias: Tensor) -> Tensor:
        """Self-attention of an encoder: every position attends to all of its sentence."""
        query, key, value = self._project_both(x, bias.shape[3]).unbind()
        return self._leave("self_attention", self._merge(attend_packed(query, key, value, bias, self._scale)).add_(x))

    def read_past(self, x: Tensor, new: Tensor, key: Tensor, value: Tensor, bias: Tensor, at: Tensor) -> Tensor:
        """Self-attention of a decoder: write the new keys and values into the KV cache, then read from it.

        `at` is the position of the new ones.
        """
        beams = bias.shape[2]
        if self.key_heads == self.heads and type(self._positions) is not Rotary:
            query, *pair = self._project_both(x, beams).unbind()
        else:
            query, *pair = self._project_grouped(x, beams, at)
        for place, made in zip(new.unbind(), pair, strict=True):
            place.copy_(made)
        return self._leave("self_attention", self._merge(attend_packed(query, key, value, bias, self._scale)).add_(x))

    def _project_grouped(self, x: Tensor, beams: int, at: Tensor) -> tuple[Tensor, ...]:
        """The same as `_project_both` where several query heads share a key head, or heads are turned (rotary)."""
        made = self._project(self._enter("self_attention", x))
        heads = made.view(-1, beams, made.shape[1] // self.width, self.width).transpose(1, 2)
        both, value = heads.tensor_split([self.heads + self.key_heads], 1)
        if type(self._positions) is Rotary:  # which turns queries and keys alike
            both = self._positions.place(both, at, "query")
        return (*both.tensor_split([self.heads], 1), value)

    def read_source(self, x: Tensor, key: Tensor, value: Tensor, bias: Tensor, beams: int) -> Tensor:
        """Cross-attention to the source, which the hypotheses of a sentence share."""
        query = self._query(self._enter("cross", x)).view(-1, beams, self.heads, self.width).transpose(1, 2)
        read = attend_packed(query, key, value, bias, self._source_scale)
        return self._leave("cross", self._merge_read(read).add_(x))

    def feed(self, x: Tensor) -> Tensor:
        """The feed-forward branch."""
        inner = self._inner(self._enter("feedforward", x))
        if self._gated:
            gate, hidden = inner.chunk(2, dim=-1)
            made = self._outer(self._activate(gate).mul_(hidden))
        else:
            made = self._outer(self._activate(inner))
        return self._leave("feedforward", made.add_(x))

    def _project_both(self, x: Tensor, beams: int) -> Float[Tensor, "3 sentences heads beams width"]:
        """Queries, keys and values."""
        made = self._project(self._enter("self_attention", x))
        return made.view(-1, beams, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)

    def _enter(self, name: str, x: Tensor) -> Tensor:
        return self._norms[name](x) if self._before else x

    def _leave(self, name: str, x: Tensor) -> Tensor:
        return x if self._before else self._norms[name](x)


def attend_packed(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, scale: float) -> Float[Tensor, "rows width"]:
    """softmax(query keyᵀ · scale + bias) value, where all are [sentences, heads, …]; query heads may share key heads.

    Where the bias is -∞ for one head, it is for all.
    """
    native = kernels()
    if native is not None and native.can_attend(query, key, value, bias):
        return native.attend(query, key, value, bias, scale)
    if query.shape[1] != key.shape[1]:
        return _attend_grouped(query, key, value, bias, scale)
    read = scaled_dot_product_attention(query, key, value, bias, scale=scale).transpose(1, 2)
    return read.reshape(read.shape[0] * read.shape[1], -1)


def _attend_grouped(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Query heads that share a key head, and have no bias of their own, are rows of one product."""
    sentences, heads, beams, width = query.shape
    shared = heads // key.shape[1]
    rows = query.reshape(sentences, key.shape[1], shared * beams, width)
    seen = bias.expand(-1, -1, beams, -1).repeat(1, 1, shared, 1)
    read = scaled_dot_product_attention(rows, key, value, seen, scale=scale)
    return read.reshape(sentences, heads, beams, width).transpose(1, 2).reshape(sentences * beams, -1)


def product(made: nn.Linear) -> Callable[[Tensor], Tensor]:
    """The linear layer as a function, without the overhead of its module where it is a plain one."""
    if type(made) not in (nn.Linear, LinearOutput):
        return made.forward
    weight, bias = made.weight, made.bias
    return lambda x: linear(x, weight, bias)


def normalization(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """Layer normalization as a function; the identity where there is none."""
    if type(norm) is nn.Identity:
        return lambda x: x
    if type(norm) is RmsNorm:
        size, factor, epsilon = norm.normalized_shape, norm.weight, norm.eps
        return lambda x: torch.rms_norm(x, size, factor, epsilon)
    if type(norm) is not nn.LayerNorm:
        raise UsageError(f"packed: a LayerNorm or RMSNorm can be computed, but this is a {type(norm).__name__}")
    shape, weight, bias, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, shape, weight, bias, eps)


def attention_scale(attention: MultiHead) -> float:
    """The factor of the dot products."""
    width = attention.projections.split[0] // attention.heads
    return float(attention.reading.score.factors(torch.empty(0, width), torch.empty(0, width))[2])
