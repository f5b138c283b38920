"""Which models the packed decoder supports: those whose every part is of a type that it computes exactly.

All other models use their own steps. So a new kind of norm, feed-forward, mask or memory is never computed as if it
were the usual one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

from torch import nn

from regard.attention.masks.causal import Causal
from regard.attention.memories.growing import Growing
from regard.attention.multihead import MultiHead
from regard.attention.normalizers.softmax import Softmax
from regard.attention.position import Position
from regard.attention.positions.buckets import BucketTable
from regard.attention.positions.learned import LearnedTable
from regard.attention.positions.rotary import Rotary
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.attention.projections import Projections
from regard.attention.reading import Reading
from regard.attention.scores.dot import Dot
from regard.attention.scores.scaled_dot import ScaledDot
from regard.layers.block import Block
from regard.layers.dropout import Dropout
from regard.layers.embedding import Embedding
from regard.layers.feeds.gated import GatedFeedForward
from regard.layers.feeds.plain import FeedForward
from regard.layers.inference.exact import stranger
from regard.layers.inference.int8 import Int8Linear
from regard.layers.inference.prepacked import Prepacked
from regard.layers.output import LinearOutput, ScaledOutput
from regard.layers.residual import Residual, Skip
from regard.layers.rms_norm import RmsNorm
from regard.layers.stack import Stack
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.gpt import GptModel
from regard.models.t5 import T5Model
from regard.models.transformer import TransformerModel
from regard.models.writer import Writer

LINEAR = (nn.Linear, LinearOutput, Prepacked, Int8Linear)
KNOWN = frozenset(
    (
        *(TransformerModel, GptModel, Embedding, nn.Embedding, LearnedTable, Stack, nn.ModuleList, nn.ModuleDict),
        *(Block, MultiHead, Projections, Reading, FeedForward, Dropout, Skip, nn.LayerNorm, nn.Identity, *LINEAR),
    )
)


def packable(model: Writer) -> TypeGuard[TransformerModel | T5Model | GptModel]:
    """Whether the packed decoder supports the model; a language model may also have LLaMA's parts, and T5 its own."""
    if isinstance(model, GptModel):
        return unusual(model, LLAMA) is None
    return unusual(model, T5_PARTS if isinstance(model, T5Model) else Usual()) is None and not any(
        part.key_heads != part.heads for part in model.modules() if isinstance(part, MultiHead)
    )


@dataclass(frozen=True)
class Usual:
    """The types of parts that a fast path computes."""

    norms: tuple[type, ...] = (nn.LayerNorm,)
    feeds: tuple[type, ...] = (FeedForward,)
    positions: tuple[type, ...] = (Position,)
    """inside layers"""
    models: tuple[type, ...] = (TransformerModel, GptModel)
    outputs: tuple[type, ...] = LINEAR


LLAMA = Usual((nn.LayerNorm, RmsNorm), (FeedForward, GatedFeedForward), (Position, Rotary))
T5_PARTS = Usual(LLAMA.norms, LLAMA.feeds, (Position, BucketTable), models=(T5Model,), outputs=(*LINEAR, ScaledOutput))


def unusual(model: Writer, usual: Usual = Usual()) -> str | None:  # noqa: B008 a frozen value
    """Describe the first part of the model that is not the usual one of a Transformer or GPT; None if all are."""
    if not isinstance(model, usual.models):
        return f"the model is of the type {type(model).__name__}"
    more = (one for one in (*usual.models, *usual.positions, *usual.outputs) if issubclass(one, nn.Module))
    strange = stranger(model, {*KNOWN, *usual.norms, *usual.feeds, *more})
    if strange is not None:
        return strange
    for name, good in _demands(model, usual):
        if not good:
            return f"{name} is not the usual one"
    return None


def _demands(model: Any, usual: Usual) -> Iterator[tuple[str, bool]]:
    """The conditions, by name; the modules are of known types already."""
    translates = isinstance(model, EncoderDecoder)
    sides: list[tuple[str, type]] = [("decoder", Causal), ("encoder", type(None))]
    for name in ("target", "source")[: 1 + translates]:
        yield name, _adds_positions(getattr(model, name))
    yield "output", type(model.output) in usual.outputs
    for name, mask in sides[: 1 + translates]:
        stack = getattr(model, name)
        places = {block.residual.place for block in stack.blocks}
        ends = [({"after"}, nn.Identity), *(({"before"}, norm) for norm in usual.norms)]
        yield f"{name}.norm", (places, type(stack.norm)) in ends
        yield f"{name}.layers", all(type(layer) is Block for layer in stack.layers)
        yield from _layers(name, stack.blocks, mask, usual, reads=translates and name == "decoder")


def _layers(name: str, blocks: list[Block], mask: type, usual: Usual, reads: bool) -> Iterator[tuple[str, bool]]:
    for at, block in enumerate(blocks):
        where, own, cross = f"{name}.layers.{at}", block.self_attention, block.cross
        yield f"{where}.shortcut", block.shortcut is None
        yield f"{where}.residual", type(block.residual) is Residual and block.residual.scale == 1
        yield f"{where}.norms", all(type(norm) in usual.norms for norm in block.norms.values())
        yield f"{where}.feedforward", type(block.feedforward) in usual.feeds
        heads = _plain_heads(own, usual.positions)
        yield f"{where}.self_attention", heads and type(own.mask) is mask and own.projections.is_joint
        yield f"{where}.self_attention", own.projections.split == blocks[0].self_attention.projections.split
        yield f"{where}.self_attention", own.heads == blocks[0].self_attention.heads
        yield f"{where}.self_attention", _same_table(own, blocks[0].self_attention)
        yield f"{where}.cross", (cross is not None) == reads
        if cross is not None:
            yield (
                f"{where}.cross",
                _plain_heads(cross, (Position,)) and cross.mask is None and not cross.projections.is_joint,
            )
            same = (cross.heads, cross.projections.split) == (own.heads, own.projections.split)
            yield f"{where}.cross", same


def _plain_heads(attention: Any, positions: tuple[type, ...]) -> bool:
    if type(attention) is not MultiHead or type(attention.reading) is not Reading:
        return False
    reading, (query, key, value) = attention.reading, attention.projections.split
    return (
        type(reading.score) in (Dot, ScaledDot)
        and type(reading.normalizer) is Softmax
        and type(reading.positions) in positions
        and type(attention.memory) is Growing
        and key == value
        and query * attention.key_heads == key * attention.heads
    )


def _same_table(attention: Any, first: Any) -> bool:
    """Whether all layers share one table of position biases, if they have any."""
    own, other = attention.reading.positions, first.reading.positions
    return type(own) is type(other) and (type(own) is not BucketTable or own is other)


def _adds_positions(embedding: Any) -> bool:
    if type(embedding) is not Embedding or embedding.table.max_norm is not None:
        return False
    positions: Any = embedding.positions
    if type(positions) is Position:
        return True
    return type(positions) in (Sinusoidal, LearnedTable) and (positions.join, positions.layers) == ("add", "first")
