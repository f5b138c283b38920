"""Examples of every part, so that the laws can be tried on it as soon as its file exists.

A member is tried as `Member()`. One that needs settings, or has variants worth trying, has them here: a line for
each example, by folder and name.
"""

import dataclasses
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.backend import BACKENDS, Backend
from regard.attention.call import Call
from regard.attention.normalizer import NORMALIZERS
from regard.attention.part import Part, Sizes
from regard.attention.position import POSITIONS, Bias
from regard.attention.score import SCORES
from regard.base.catalog import Catalog

BATCH, HEADS, KEY_HEADS, LENGTH, WIDTH, VALUE_WIDTH = 2, 4, 2, 7, 4, 3
ROOM = 16
"""no example is put at this position or beyond it"""
SIZES = Sizes(
    width=HEADS * WIDTH,
    heads=HEADS,
    key_heads=HEADS,
    query_width=WIDTH,
    key_width=WIDTH,
    value_width=VALUE_WIDTH,
)

_RANDOM = torch.Generator().manual_seed(1)
_PICTURE = torch.rand(BATCH, HEADS, ROOM, ROOM, generator=_RANDOM) < 0.5
_EDGES = torch.tensor([[0, 1, 2, 3, 0, 4, 6, 6, 5], [1, 0, 3, 2, 4, 0, 6, 5, 5]])

EXAMPLES: dict[str, dict[str, list[dict[str, Any]]]] = {
    "scores": {
        "additive": [
            {},
            {"hidden": 5, "spelling": "joint"},
            {"squash": "leaky"},
            {"spelling": "bare", "squash": "leaky_inside"},
        ],
        "scaled_dot": [{}, {"scale": 0.3}],
        "cosine": [{"sharpness": 3.0}],
        "distance": [{}, {"reach": 2.0}],
        "kernel": [{}, {"features": "relu"}, {"features": "exponential", "draws": 6, "directions": "independent"}],
    },
    "masks": {
        "edges": [{"edges": _EDGES}, {"edges": torch.empty(2, 0, dtype=torch.long)}],
        "global_tokens": [{}, {"count": 2}],
        "matrix": [{"matrix": _PICTURE[0, 0]}, {"matrix": _PICTURE[:, 0]}, {"matrix": _PICTURE}],
        "padding": [{"lengths": torch.tensor([5, 2])}, {"lengths": torch.tensor([0, 7])}],
        "permutation": [
            {"order": (3, 1, 0, 2, *range(15, 3, -1))},
            {"order": (3, 1, 0, 2, *range(15, 3, -1)), "strict": True},
        ],
        "prefix": [{"size": 3}],
        "random_blocks": [{"size": 3, "count": 2, "length": ROOM}],
        "strided": [{"stride": 3}],
        "tiles": [
            {"size": 3},
            {"size": 3, "shift": 1},
            {"size": (2, 3), "columns": 4},
            {"size": 2, "shift": (1, 1), "columns": 4},
        ],
        "window": [{"size": 2}, {"size": 3, "ahead": 0}],
    },
    "normalizers": {
        "top_k": [{"k": 2}, {}],
        "sigmoid": [{}, {"shift": -1.5}],
    },
    "positions": {
        "buckets": [{"buckets": 8, "farthest": 6}, {"buckets": 6, "farthest": 9, "direction": "back"}],
        "grid": [{"rows": 4, "columns": 4}, {"rows": 2, "columns": 2, "across": 4}],
        "learned": [
            {"length": ROOM},
            {"length": ROOM, "join": "concatenate", "width": 3},
            {"length": ROOM, "layers": "every"},
            {"length": ROOM, "join": "concatenate", "width": 3, "layers": "every"},
        ],
        "rotary": [{}, {"pairs": "neighbors"}, {"share": 0.5, "base": 50.0}],
        "shaw": [{"reach": 2}, {"scale": 1.0}],
        "sinusoidal": [
            {},
            {"join": "concatenate", "width": 3},
            {"layers": "every", "first": 1},
            {"join": "concatenate", "width": 3, "layers": "every", "base": 30.0},
        ],
        "transformer_xl": [{}, {"scale": 1.0}],
    },
    "memories": {
        "compressed": [{"slots": 3, "length": ROOM}],
        "latent": [{"slots": 3}],
        "rolling": [{"size": 3}, {"size": 1}, {"size": ROOM}],
    },
    "feeds": {
        "gated": [{}, {"activation": "silu", "hidden": 10}],
        "experts": [{"count": 3, "chosen": 2}, {"count": 2, "chosen": 1, "expert": "gated"}],
    },
    "mixers": {
        "convolution": [
            {},
            {"dilation": 2, "kernel": "separable", "gate": "tanh"},
            {"width": 2, "growth": 2, "gate": "none"},
        ],
        "recurrent": [{}, {"cell": "lstm"}, {"cell": "elman", "view": "past"}],
        "self_attention": [{}, {"view": "past"}],
    },
    "messages": {
        "gat": [{}, {"heads": 3}],
        "gatv2": [{}, {"heads": 2}],
    },
    "backends": {
        "blockwise": [{"block_bytes": 1000}],
        "linear": [{}, {"chunk": 2}],
        "listed": [{"most": 1.0}],
        "sparse": [{"block": 2}, {"block": 3}],
        "union": [{"block": 3}],
    },
}

WHOLE_ROWS = {"grid": 4}
"""positions whose distances are those of a picture: shifted by whole rows of it"""


def examples(catalog: Catalog) -> list[Any]:
    """Every example of every member of a folder, as pytest parameters with readable names."""
    found = []
    for name in catalog.names:
        for settings in settings_of(catalog, name):
            shown = ", ".join(f"{setting}={_show(value)}" for setting, value in settings.items())
            found.append(pytest.param(catalog.get(name)(**settings), id=f"{name}({shown})"))
    return found


def for_any_mask(dtype: torch.dtype = torch.float64) -> list[Any]:
    """The backends of a number type that need no list of pairs; for others, see backends/test_listed.py."""
    return [
        example
        for example in examples(BACKENDS)
        if not isinstance(example.values[0], BACKENDS.get("listed")) and computes(example.values[0], dtype)
    ]


def computes(backend: Backend, dtype: torch.dtype) -> bool:
    """Whether a backend takes this number type on this machine."""
    parts = ((SCORES.ScaledDot(), NORMALIZERS.Softmax()), (SCORES.Kernel(), NORMALIZERS.Ratio()))
    calls = (call_of(*tensors(dtype), score, normalizer) for score, normalizer in parts)
    return any(backend.refusal(call) is None for call in calls)


def parts(catalog: Catalog) -> list[Part]:
    """The examples themselves."""
    return [example.values[0] for example in examples(catalog)]


def settings_of(catalog: Catalog, name: str) -> list[dict[str, Any]]:
    """What the member is tried with; one that needs settings must be in the table above."""
    found = EXAMPLES.get(catalog.kind, {}).get(name)
    if found is not None:
        return found
    needed = [
        field.name
        for field in dataclasses.fields(catalog.get(name))
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if needed:
        raise LookupError(
            f"{catalog.kind}/{name}.py needs {', '.join(needed)}: "
            f"add an example to EXAMPLES['{catalog.kind}']['{name}'] in tests/laws/examples.py"
        )
    return [{}]


def _show(value: Any) -> str:
    if isinstance(value, Tensor):
        return "x".join(map(str, value.shape)) if value.dim() > 1 else str(value.tolist())
    return str(len(value)) if isinstance(value, tuple) and len(value) > 3 else str(value)


def biases() -> list[Any]:
    """The positions that are added to the logits."""
    return [example for example in examples(POSITIONS) if isinstance(example.values[0], Bias)]


def build(part: Part, dtype: torch.dtype = torch.float64, sizes: Sizes = SIZES) -> Any:
    """The working part, its weights large enough to matter."""
    built = part.build(sizes)
    if isinstance(built, nn.Module):
        built = built.to(dtype)
        with torch.no_grad():
            for parameter in built.parameters():
                parameter.normal_(std=0.7)
    return built


def combines(score: Any, normalizer: Any, bias: Any = None) -> bool:
    """Whether the parts go together: a normalizer that divides by the sum needs logits that are never negative."""
    return not normalizer.proportional or (score.positive and bias is None)


@cache
def serving() -> tuple[Any, ...]:
    """Every backend with every normalizer that it serves, and the scores that go with the two."""
    query, key, value = tensors()
    found = []
    for backend in examples(BACKENDS):
        for normalizer in examples(NORMALIZERS):
            scores = [
                score
                for score in parts(SCORES)
                if combines(score, normalizer.values[0])
                and backend.values[0].refusal(call_of(query, key, value, build(score), normalizer.values[0])) is None
            ]
            if scores:
                found.append(
                    pytest.param(*backend.values, *normalizer.values, scores, id=f"{backend.id}-{normalizer.id}")
                )
    return tuple(found)


def tensors(
    dtype: torch.dtype = torch.float64, heads: int = HEADS, queries: int = LENGTH, keys: int = LENGTH
) -> tuple[Tensor, Tensor, Tensor]:
    """Random query, key and value that ask for their gradients."""
    shapes = (BATCH, HEADS, queries, WIDTH), (BATCH, heads, keys, WIDTH), (BATCH, heads, keys, VALUE_WIDTH)
    query, key, value = (torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes)
    return query, key, value


def call_of(query: Tensor, key: Tensor, value: Tensor, score: Any, normalizer: Any, **others: Any) -> Call:
    """The call of attention with these parts."""
    return Call(query, key, value, score=score, normalizer=normalizer, **others)


def weights_in(*built: Any) -> list[Tensor]:
    """The learned tensors of some built parts."""
    return [parameter for part in built if isinstance(part, nn.Module) for parameter in part.parameters()]
