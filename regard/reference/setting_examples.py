"""An example for every setting, as a line of a run file: from its type and default, or from the table below."""

import dataclasses
import json
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from regard.base.catalog import Catalog
from regard.base.config import to_dict

EXAMPLES: dict[str, Any] = {
    "data.train": ["train.en", "train.de"],
    "data.dev": ["dev.en", "dev.de"],
    "data.test": ["test.en", "test.de"],
    "data.leaks": "either",
    "data.vectors": ["glove.en.txt", "glove.de.txt"],
    "data.format.columns": [1, 3],
    "data.format.delimiter": ";",
    "data.format.keys": ["translation.en", "translation.de"],
    "data.format.languages": ["en", "de"],
    "data.format.sheet": "Sentences",
    "data.source": "en",
    "data.target": "de",
    "subwords.characters": 1_000,
    "subwords.load": ["vocabulary.json"],
    "batches.sentences": 128,
    "batches.longest": 100,
    "decoding.min_length": 1,
    "decoding.max_length": 100,
    "decoding.no_repeat_ngram": 3,
    "decoding.prefix": [17],
    "decoding.top_k": 20,
    "decoding.top_p": 0.9,
    "decoding.temperature": 0.8,
    "model.key_heads": 2,
    "model.stage_kernels": [5, 3],
    "model.memory": "rolling(128)",
    "model.feedforward": 1_024,
    "model.feed": "gated",
    "model.mixer": "convolution",
    "model.residual_scale": "deepnorm",
    "model.dropout": 0.3,
    "model.embedding": 128,
    "model.encoder_width": 512,
    "model.attention": {"score": "additive"},
    "training.epochs": 10,
    "training.patience": 5,
    "training.lanes": 2,
    "training.metric": "bleu",
    "training.average": 5,
    "training.optimizer.betas": [0.9, 0.999],
    "training.optimizer.epsilon": 1e-8,
    "training.optimizer.weight_decay": 0.01,
    "training.optimizer.momentum": 0.9,
    "training.schedule.steps": 20_000,
    "training.schedule.warmup": 1_000,
    "training.guide.links": "eflomal",
    "training.guide.layer": "decoder.layers.4.cross",
    "training.guide.heads": [0, 1],
    "training.guide.weight": 0.1,
    "data.channels": 3,
    "data.keys": ["label", "text"],
    "episodes.turns": 4,
    "heads.data": {"train": ["chunks.txt"]},
    "data.mix.files": ["more.en", "more.de"],
    "data.problem.tour.size": 12,
    "data.problem.smallest": 5,
    "model.non_local": [1, 2],
    "masks": "window(128)",
    "positions": "rotary",
    "scores": "additive",
    "feeds": "gated",
    "permutation.order": [2, 0, 1],
    "permutation.strict": True,
    "convolution.width": 5,
    "random_blocks.size": 16,
    "random_blocks.length": 512,
    "random_blocks.count": 3,
    "random_blocks.seed": 1,
    "tiles.size": 8,
    "tiles.shift": 4,
    "grid.across": 128,
    "shaw.scale": 0.125,
    "sinusoidal.first": 1,
    "sigmoid.shift": -4.0,
    "cosine.sharpness": 10.0,
    "kernel.seed": 1,
}
"""example values that do not follow from a setting's type and default, by path or by catalog"""
_BESIDES: dict[str, dict[str, Any]] = {
    "kernel.redraw": {"features": "exponential"},
    "learned.join": {"width": 64},
    "sinusoidal.join": {"width": 64},
}
"""what else a part's setting needs"""


def as_toml(value: Any) -> str:
    """A value as TOML writes it, on one line; None is `"none"`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {name: item for name, item in to_dict(value).items() if item is not None}
    if isinstance(value, dict):
        if value.keys() == {"name"}:
            return as_toml(value["name"])
        return "{ " + ", ".join(f"{name} = {as_toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:_}" if value >= 10_000 else str(value)
    return json.dumps("none" if value is None else str(value) if isinstance(value, Path) else value)


def example_of(
    at: str, hint: Any, default: Any, needed: Sequence["dataclasses.Field[Any]"], part: bool, of: str = ""
) -> str:
    """A line that sets it: as `path = value`, or for a part of a model as it is written there, `window(size=64)`.

    `of` is its place in the reference, with the name of the member that it belongs to.
    """
    catalog = next((one.kind for one in catalogs_in(hint)), "")
    names = catalogs_in(hint)[0].names if catalog else ()
    usual = EXAMPLES.get(catalog, names[-1] if names else _like(hint, default))
    value = EXAMPLES.get(of, EXAMPLES.get(at, usual))
    if names and isinstance(value, str) and value.partition("(")[0] not in (*names, "none"):
        value = usual  # the path is that of another setting, too
    if not part:
        return f"{at} = {as_toml(value)}"
    name, _, setting = at.rpartition(".")
    if isinstance(hint, type) and hint.__name__ == "Tensor":
        return f"in Python: {name}({setting})"
    given = {other.name: EXAMPLES.get(f"{name}.{other.name}", 64) for other in needed} | {setting: value}
    written = ", ".join(f"{other}={item!r}" for other, item in (given | _BESIDES.get(at, {})).items())
    return f"{name}({written})"


def _like(hint: Any, default: Any) -> Any:
    """A value of this type other than the default."""
    options = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    if typing.get_origin(hint) is Literal:
        return next((option for option in options if option != default), default)
    if hint is bool:
        return not default
    if hint is int:
        return 2 * default if default else 64
    if hint is float:
        return default / 2 if default else 0.1
    if isinstance(default, tuple | list) and default:
        return default
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return default if default is not None else {}
    return _like(options[0], default if not isinstance(default, str) else None) if options else "text"


def catalogs_in(hint: Any) -> list[Catalog]:
    """The catalog that a setting of this type chooses from, if it does."""
    return [extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, Catalog)]
