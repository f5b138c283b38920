"""Conversion of our Transformer to CTranslate2's specification, weight by weight.

CTranslate2 (https://github.com/OpenNMT/CTranslate2) runs Transformers fast on CPUs, also quantized to 8 bits. It treats
positions, alignment heads and shared key heads (grouped-query attention) in its own way; where it lacks an option, the
weights are rewritten so that they compute the same numbers, and what it cannot compute at all is refused.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.attention.memories.growing import Growing
from regard.attention.memory import MEMORIES
from regard.attention.multihead import MultiHead
from regard.attention.normalizers.softmax import Softmax
from regard.attention.position import PositionVectors
from regard.attention.positions.learned import Learned, LearnedTable
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.attention.scores.dot import Dot
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import RegardError, UsageError
from regard.base.extras import install_hint
from regard.decoding.packed.acceptance import unusual
from regard.layers.block import Block
from regard.layers.embedding import Embedding
from regard.layers.feeds.plain import Plain
from regard.layers.mixers.self_attention import SelfAttention
from regard.layers.stack import Stack
from regard.models.transformer import Transformer, TransformerModel
from regard.models.writer import Writer

ROOM = 2048
"""the least number of positions in an export of a model whose positions are unlimited"""
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH", "tanh": "Tanh"}
_Array = NDArray[np.float32]


def library() -> Any:
    """The package ctranslate2, or an error that says how to install it."""
    try:
        return import_module("ctranslate2")
    except ImportError as error:
        raise RegardError(f"ctranslate2 is not installed: {install_hint('ctranslate2')}") from error


def check_expressible(design: Any, where: str) -> Transformer:
    """The design, if CTranslate2 can compute it; else an error that names the unsupported setting."""
    if type(design) is not Transformer:
        kind = type(design).__name__.lower()
        raise UsageError(f"{where}: model.name is '{kind}', but CTranslate2 runs the model 'transformer' alone")
    positions = design.positions
    activation = design.feed.activation or design.activation if type(design.feed) is Plain else design.activation
    demands: list[tuple[str, Any, bool, str]] = [
        ("score", design.score, type(design.score) in (ScaledDot, Dot), "scaled_dot or dot"),
        ("normalizer", design.normalizer, type(design.normalizer) is Softmax, "softmax"),
        ("positions", positions, type(positions) in (type(None), Sinusoidal, Learned), "sinusoidal, learned or none"),
        ("mixer", design.mixer, type(design.mixer) is SelfAttention, "self_attention"),
        ("mask", design.mask, design.mask is None, "none (causal in the decoder)"),
        ("memory", design.memory, type(MEMORIES.make(design.memory)) is Growing, "growing"),
        ("feed", design.feed, type(design.feed) is Plain, "plain"),
        ("activation", activation, activation in _ACTIVATIONS, ", ".join(_ACTIVATIONS)),
        ("norm", design.norm, design.norm == "layer", "layer"),
        ("copy", design.copy, design.copy is None, "none"),
        ("residual_scale", design.residual_scale, design.residual_scale == 1, "1.0"),
    ]
    for name, chosen, good, usable in demands:
        if not good:
            shown = chosen if isinstance(chosen, str | float) else type(chosen).__name__
            raise UsageError(f"{where}: model.{name} is {shown}, but CTranslate2 computes with {usable} alone")
    if isinstance(positions, PositionVectors) and (positions.layers, positions.join) != ("first", "add"):
        found = f"join={positions.join!r}, layers={positions.layers!r}"
        raise UsageError(f"{where}: model.positions has {found}, but CTranslate2 adds them before the first layer")
    return design


def check_model(model: Writer) -> TransformerModel:
    """The model, if CTranslate2 can compute every part of it; else an error that names the unsupported part."""
    if type(model) is not TransformerModel:
        kind = type(model).__name__
        raise UsageError(f"ctranslate2: the model must be a Transformer, but is a {kind}")
    strange = unusual(model)
    if strange is None:
        blocks = [*model.encoder.blocks, *model.decoder.blocks]
        norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
        alike: dict[str, set[Any]] = {
            "heads": {block.self_attention.heads for block in blocks},
            "activation": {block.feedforward.activation for block in blocks},
            "place of the normalization": {block.residual.place for block in blocks},
            "epsilon of the normalization": {norm.eps for norm in norms},
        }
        differing = [f"the {name} differs from layer to layer" for name, found in alike.items() if len(found) > 1]
        differing += [f"the activation is {name}" for name in alike["activation"] if name not in _ACTIVATIONS]
        if any(norm.bias is None for norm in norms):
            differing.append("a layer normalization is without bias")
        if not {model.source.scale, model.target.scale} <= {1.0, model.output.in_features**0.5}:
            differing.append("embeddings are scaled by another number than √width")
        strange = next(iter(differing), None)
    if strange is not None:
        raise UsageError(f"ctranslate2: {strange}, which CTranslate2 does not compute")
    return model


class LayerHeads(NamedTuple):
    """Heads of one decoder layer, by their numbers, whose mean CTranslate2 gives as its attention."""

    layer: int
    heads: tuple[int, ...]
    shift: int = 0
    """1: a target token has the weights of the step that reads it as input"""


def alignment_heads(design: Transformer, extras: Mapping[str, Any]) -> LayerHeads | None:
    """The heads that the model file names, else all of the last layer but one; None if they are in several layers."""
    alignment = extras.get("alignment")
    if not alignment:
        return LayerHeads(max(0, design.decoder_layers - 2), tuple(range(design.heads)))
    layers = {str(name) for name, _ in alignment["heads"]}
    parts = layers.pop().split(".") if len(layers) == 1 else []
    if len(parts) != 4 or (parts[0], parts[1], parts[3]) != ("decoder", "layers", "cross"):
        return None
    return LayerHeads(
        int(parts[2]), tuple(dict.fromkeys(int(head) for _, head in alignment["heads"])), alignment["shift"]
    )


def transformer_spec(
    model: Writer,
    vocabularies: tuple[Sequence[str], Sequence[str]],
    aligned: LayerHeads | None = None,
    room: int = ROOM,
) -> Any:
    """The model as a `ctranslate2.specs.TransformerSpec`, filled; `aligned` as `alignment_heads` gives it."""
    model = check_model(model)
    specs, block = library().specs, model.decoder.blocks[0]
    spec = specs.TransformerSpec.from_config(
        (len(model.encoder.blocks), len(model.decoder.blocks)),
        block.self_attention.heads,
        pre_norm=block.residual.place == "before",
        activation=getattr(specs.Activation, _ACTIVATIONS[block.feedforward.activation]),
        alignment_layer=-1 if aligned is None else aligned.layer,
        alignment_heads=1 if aligned is None else len(aligned.heads),
    )
    _embed(spec.encoder.embeddings[0], spec.encoder, model.source, room)
    _embed(spec.decoder.embeddings, spec.decoder, model.target, room)
    _stack(spec.encoder, model.encoder, None)
    _stack(spec.decoder, model.decoder, aligned)
    _linear(spec.decoder.projection, model.output)
    spec.register_source_vocabulary(list(vocabularies[0]))
    spec.register_target_vocabulary(list(vocabularies[1]))
    config = spec.config
    config.unk_token, config.bos_token, config.eos_token = "<unk>", "<s>", "</s>"
    config.decoder_start_token, config.add_source_bos, config.add_source_eos = "<s>", False, True
    config.layer_norm_epsilon = block.norms["feedforward"].eps
    return spec


def _embed(table: Any, side: Any, embedding: Embedding, room: int) -> None:
    table.weight = _array(embedding.table.weight)
    side.scale_embeddings = embedding.scale != 1  # by √width, which is what our Transformers scale by
    width = table.weight.shape[1]
    positions = embedding.positions
    if isinstance(positions, LearnedTable):
        side.position_encodings.encodings = _array(positions.weight)
    elif isinstance(positions, PositionVectors):
        side.position_encodings.encodings = _array(positions.vectors(torch.arange(room), width))
    else:
        # Left out, they would be CTranslate2's own sinusoids; zeros change nothing.
        side.position_encodings.encodings = np.zeros((room, width), dtype=np.float32)


def _stack(spec: Any, stack: Stack, aligned: LayerHeads | None) -> None:
    for at, (layer, block) in enumerate(zip(spec.layer, stack.blocks, strict=True)):
        first = aligned.heads if aligned is not None and aligned.layer == at else ()
        _block(layer, block, first)
    if isinstance(stack.norm, nn.LayerNorm):
        _norm(spec.layer_norm, stack.norm)


def _block(spec: Any, block: Block, first_heads: tuple[int, ...]) -> None:
    _attention(spec.self_attention, block.self_attention, block.norms["self_attention"])
    if block.cross is not None:
        _attention(spec.attention, block.cross, block.norms["cross"], first_heads)
    _norm(spec.ffn.layer_norm, block.norms["feedforward"])
    _linear(spec.ffn.linear_0, block.feedforward.inner)
    _linear(spec.ffn.linear_1, block.feedforward.outer)


def _attention(spec: Any, attention: MultiHead, norm: nn.Module, first_heads: tuple[int, ...] = ()) -> None:
    """The projections by head, with `first_heads` moved to the front and shared key heads repeated."""
    heads, shared = attention.heads, attention.heads // attention.key_heads
    order = [*first_heads, *(head for head in range(heads) if head not in first_heads)]
    query, key, value = _projections(attention)
    picked = [_by_head(query, heads)[order]]
    picked += [_by_head(one, attention.key_heads).repeat_interleave(shared, 0)[order] for one in (key, value)]
    rows = [one.flatten(0, 1) for one in picked]
    maps = [torch.cat(rows)] if len(spec.linear) == 2 else [rows[0], torch.cat(rows[1:])]
    for linear, weight in zip(spec.linear, maps, strict=False):
        linear.weight, linear.bias = _array(weight[:, :-1]), _array(weight[:, -1])
    _linear(spec.linear[-1], attention.output)
    spec.linear[-1].weight = _array(attention.output.weight.unflatten(1, (heads, -1))[:, order].flatten(1))
    _norm(spec.layer_norm, norm)
    spec.queries_scale = _scale(attention)


def _projections(attention: MultiHead) -> tuple[Tensor, Tensor, Tensor]:
    """The projections to queries, keys and values, each [rows, inputs + 1] with its bias as the last column."""
    projections = attention.projections
    names = ("joint",) if projections.is_joint else ("query", "source")
    maps = []
    for name in names:
        linear: Any = projections.get_submodule(name)
        bias = torch.zeros(linear.weight.shape[0]) if linear.bias is None else linear.bias
        maps.append(torch.cat([linear.weight, bias[:, None]], 1))
    query, key, value = torch.cat(maps).split(projections.split)
    return query, key, value


def _by_head(rows: Tensor, heads: int) -> Tensor:
    return rows.unflatten(0, (heads, -1))


def _scale(attention: MultiHead) -> np.float32:
    score: Any = attention.reading.score
    width = attention.projections.split[0] // attention.heads
    return np.float32(1.0 if isinstance(score, Dot) else score.scale or width**-0.5)


def _linear(spec: Any, linear: nn.Linear) -> None:
    spec.weight = _array(linear.weight)
    if linear.bias is not None:
        spec.bias = _array(linear.bias)


def _norm(spec: Any, norm: Any) -> None:
    spec.gamma, spec.beta = _array(norm.weight), _array(norm.bias)


def _array(tensor: Tensor) -> _Array:
    made: _Array = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
    return made.copy()
