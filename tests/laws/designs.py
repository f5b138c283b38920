"""Every model of the catalog, small enough to be tried in no time.

A model is tried as its defaults and as each of its presets have it, sizes made small by the names of their settings
(`SMALL`). So a new file is tried on arrival. Variants worth trying beside them are in `VARIANTS`: settings on top of
the small defaults, by model and by what makes the variant special.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING
from functools import cache
from itertools import product
from typing import Any

import pytest
import torch

from regard.attention.positions.sinusoidal import Sinusoidal
from regard.base.config import from_dict
from regard.layers.feeds.experts import Experts
from regard.layers.pointer_generator import Copying
from regard.layers.reader import SingleHead
from regard.models.model import MODELS, Design

SMALL: Mapping[str, int] = {
    "width": 16,
    "feedforward": 24,
    "embedding": 16,
    "encoder_width": 16,
    "layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "heads": 2,
    "head_width": 6,
    "patch": 10,
    "tile": 2,
    "hidden": 16,
    "decoder_width": 8,
    "decoder_heads": 2,
    "code": 4,
    "text_layers": 1,
    "cross_layers": 1,
    "vector": 8,
}
"""what a setting of this name is, wherever a design has a number there"""
SMALL_STAGES: Mapping[str, tuple[int, ...]] = {
    "stage_layers": (2, 1),
    "stage_heads": (2, 4),
    "stage_widths": (4, 4, 8, 8, 8, 8),
    "stage_strides": (2, 2, 1, 1, 1, 1),
}
"""the same for models in stages"""

_FED: dict[str, dict[str, Any]] = {
    f"{query}, {context}, {feeding}": {"width": 12, "query": query, "context": context, "feeding": feeding}
    for query, context, feeding in product(["previous", "current"], ["step", "output", "both"], ["nothing", "output"])
}
_LAYERS: dict[str, dict[str, Any]] = {
    "root mean square, gated": {"norm": "rms", "feed": {"name": "gated", "activation": "silu"}, "positions": "rotary"},
    "one expert": {"feed": {"name": "experts", "count": 2, "chosen": 1, "expert": "gated"}, "norm_place": "after"},
    "causal window": {"mask": "causal & window(2)", "positions": "alibi"},
    "big bird": {"mask": "window(2) | global_tokens(1) | random_blocks(2, 1, 12)"},
    "linear": {"score": "kernel", "normalizer": "ratio", "positions": "sinusoidal", "memory": "recurrent"},
    "performer": {
        "score": {"name": "kernel", "features": "exponential", "draws": 8, "redraw": "step"}, "normalizer": "ratio",
        "positions": "sinusoidal", "memory": "recurrent",
    },
    "gates, recomputed": {"norm": "none", "residual_gate": "channels", "recompute": "layers"},
    "short memory": {"memory": "rolling(2)", "score": "kernel", "normalizer": "ratio"},
    "growing convolution": {
        "mixer": {"name": "convolution", "growth": 2, "kernel": "separable", "gate": "tanh"}, "positions": None,
    },
    "lstm": {"mixer": {"name": "recurrent", "cell": "lstm"}, "norm_place": "after"},
    "deep": {"norm_place": "after", "residual_scale": "deepnorm"},
    "scaled": {"residual_scale": 0.7, "norm": "rms"},
}  # fmt: skip
"""settings of layers together, tried in every layered model; each by itself is tried in test_layered.py"""
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "bert": {
        **{name: chosen for name, chosen in _LAYERS.items() if "memory" not in chosen},
        "one segment": {"segments": 1},
        "no segments, before": {"segments": None, "norm_place": "before"},
        "low rank": {"memory": "compressed(4)"},
    },
    "cnn": {
        "coordinates": {"coordinates": "added", "pooling": "flat"},
        "batch norm, wide kernels": {"norm": "batch", "stage_kernels": (5, 3, 1, 1, 3, 1)},
        **{kind: {"non_local": (1, 2), "kind": kind} for kind in ("gaussian", "dot_product", "concatenation")},
    },
    "clip": {"cross attention": {"cross_layers": 1}, "mean": {"pooling": "mean"}},
    "swin": {"filled up": {"patch": 7, "tile": 2}, "one stage": {"stage_layers": (2,), "stage_heads": (2,)}},
    "vit": {
        "no positions, mean": {"patch_positions": "none", "pooling": "mean"},
        "rotary, waves": {"positions": "rotary", "pooling": "max", "patch_positions": "waves"},
    },
    "gpt": {
        **_LAYERS,
        "untied": {"tie": "none", "feedforward": 24, "activation": "relu"},
        "no biases": {"linear_bias": "none", "opening": "<s>"},
        "biases of projections": {"linear_bias": "projections", "feed": "gated"},
        "fixed bias": {"output_bias": "fixed"},
        "learned bias": {"output_bias": "learned"},
        "no positions": {"positions": None},
        "shared keys": {"heads": 4, "key_heads": 1},
    },
    "byte_net": {
        "short": {"ratio": 1.5, "extra": 1, "decoder_layers": 3, "largest": 2, "kernel": 5},
        "copying": {"copy": Copying()},
    },
    "conv_s2s": {"wide": {"kernel": 5, "embedding": 10, "positions": None}, "copying": {"copy": Copying()}},
    "deep_att": {"gru": {"cell": "gru", "embedding": 10, "decoder_layers": 1}, "copying": {"copy": Copying()}},
    "gnmt": {
        "gru": {"cell": "gru", "encoder_layers": 4, "decoder_layers": 4, "attention": SingleHead(score="bilinear")},
        "one layer": {"encoder_layers": 1, "feed": "plain", "embedding": 10},
        "copying": {"copy": Copying()},
    },
    "rnn_lm": {
        "elman": {"cell": "elman"},
        "gru": {"cell": "gru", "layers": 3, "embedding": 8},
        "tied": {"tie": "target", "layers": 2},
        "dot": {"attention": SingleHead()},
        "additive": {"attention": SingleHead(score="additive(7)"), "cell": "gru"},
        "bilinear": {"attention": SingleHead(score="bilinear"), "combine": "concatenate"},
        "projected": {"attention": SingleHead(score="scaled_dot", width=6), "cell": "elman", "tie": "target"},
        "sparse": {"attention": SingleHead(normalizer="sparsemax")},
    },
    "seq2seq": {
        **_FED,
        "bottleneck": {"attention": None},
        "bottleneck, fed": {"attention": None, "feeding": "output", "cell": "lstm"},
        "deep": {
            "cell": "lstm", "encoder_layers": 3, "encoder_width": 8, "attention": SingleHead(score="bilinear"),
        },
        "one direction": {"cell": "elman", "directions": "one", "attention": SingleHead(score="scaled_dot")},
        "additive": {
            "attention": SingleHead(score="additive"), "encoder_width": 20, "query": "previous", "context": "both",
        },
        "cosine": {"attention": SingleHead(score="cosine")},
        "contexts of networks": {"attention": SingleHead(width=6, hidden=5)},
        "side by side": {"combine": "concatenate", "feeding": "output"},
        "tied": {"tie": "all"},
        "copying": {"copy": Copying(score="additive", coverage=1.0), "feeding": "output"},
        "copying with its attention": {"copy": Copying(attention="decoder", coverage=1.0), "cell": "lstm"},
        "copying with its attention, fed": {
            "copy": Copying(attention="decoder"), "attention": SingleHead(score="additive"), "query": "previous",
            "context": "both", "feeding": "output", "encoder_width": 10,
        },
        "copying without attention": {"attention": None, "copy": Copying(), "encoder_width": 10},
    },
    "t5": {
        **_LAYERS,
        **{name: {**_LAYERS[name], "positions": None} for name in ("short memory", "lstm")},
        "uneven, narrow heads": {"encoder_layers": 3, "decoder_layers": 1, "head_width": 3},
        "fixed bias, few buckets": {"output_bias": "fixed", "positions": "buckets(4, 9)"},
        "untied, scaled": {"tie": "embeddings", "output_scale": "width"},
    },
    "transformer": {
        **_LAYERS,
        "fixed bias": {"output_bias": "fixed", "norm_place": "after"},
        "learned bias": {"output_bias": "learned"},
        "halves, unscaled": {"positions": "sinusoidal(order='halves')", "embedding_scale": "none"},
        "untied": {"tie": "none", "activation": "gelu"},
        "every layer": {"positions": Sinusoidal(layers="every")},
        "first layer alone": {"positions": Sinusoidal(layers="first_layer"), "decoder_layers": 2},
        "side by side": {"positions": Sinusoidal(join="concatenate", width=4), "tie": "none"},
        "no positions": {"positions": None},
        "shared keys": {"heads": 4, "key_heads": 2},
        "additive, sparse": {"score": "additive", "normalizer": "sparsemax"},
        "uneven": {"encoder_layers": 3, "decoder_layers": 1},
        "copying": {"copy": Copying(score="scaled_dot", width=8, coverage=0.5)},
    },
}  # fmt: skip


def designs() -> list[Any]:
    """Every model as pytest parameters: its defaults, its presets and its variants, all of them small."""
    return [pytest.param(design, id=name) for name, design in _named().items()]


def offering(kind: type, found: list[Any]) -> list[Any]:
    """Those of the parameters whose models are of this kind; all keep to the laws of learning."""
    return [param for param in found if issubclass(built(param.values[0].where), kind)]


@cache
def built(name: str) -> type:
    """The class of the modules that a model of the catalog builds."""
    design = small(name)
    with torch.device("meta"):
        return type(design.build(dict.fromkeys(design.needs, 20)))


def plain_designs() -> list[Any]:
    """One design of each model: its defaults, small."""
    return [pytest.param(small(name), id=name) for name in filter(complete, MODELS.names)]


def complete(name: str) -> bool:
    """Whether every setting of a model has a default, so that it can be made from its name alone."""
    fields = dataclasses.fields(MODELS.get(name))  # type: ignore[arg-type]
    return all(field.default is not MISSING or field.default_factory is not MISSING for field in fields)


def small(name: str, settings: Mapping[str, Any] | None = None, **changes: Any) -> Design:
    """A model of the catalog with these settings; small and without dropout, unless `changes` say otherwise."""
    kind: Any = MODELS.get(name)
    table = dict(settings or {})
    design = from_dict(table, kind)
    for field in dataclasses.fields(design):
        value = getattr(design, field.name)
        if field.name in SMALL and isinstance(value, int):
            table[field.name] = SMALL[field.name]
        elif field.name in SMALL_STAGES:
            table[field.name] = SMALL_STAGES[field.name]
        elif isinstance(value, Experts):
            table[field.name] = dataclasses.replace(value, count=4, chosen=2)
        elif field.name.endswith("dropout"):
            table[field.name] = 0.0
    made: Design = dataclasses.replace(from_dict(table, kind), **changes)
    return made


@cache
def _named() -> Mapping[str, Design]:
    found: dict[str, Design] = {}
    for name in filter(complete, MODELS.names):
        presets = {preset: (settings, {}) for preset, settings in MODELS.get(name).presets.items()}  # type: ignore[attr-defined]
        variants = {variant: ({}, changes) for variant, changes in VARIANTS.get(name, {}).items()}
        for label, (settings, changes) in {"": ({}, {}), **presets, **variants}.items():
            design = small(name, settings, **changes)
            if design not in found.values():  # some presets differ in nothing but sizes and dropout
                found[f"{name}: {label}" if label else name] = design
    return found
