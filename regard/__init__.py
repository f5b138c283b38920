"""Regard: attention models that train on the machine you have and show how they decide.

>>> from regard import Attention, masks, positions, record
>>> layer = Attention(heads=8, mask=masks.Causal() & masks.Window(128), positions=positions.Alibi()).build(512)
>>> with record(layer) as seen:
...     output = layer(x)

`scores`, `masks`, `normalizers`, `positions`, `memories` and `backends` are catalogs of parts of attention: a member
is `masks.Window(128)` in Python and `window(128)` in a config.
"""

import importlib
from typing import TYPE_CHECKING, Any

from regard.base import processor as _processor

if TYPE_CHECKING:
    from regard.attention.backend import BACKENDS as backends
    from regard.attention.core import attend, explain
    from regard.attention.mask import MASKS as masks
    from regard.attention.memory import MEMORIES as memories
    from regard.attention.multihead import Attention, MultiHead
    from regard.attention.normalizer import NORMALIZERS as normalizers
    from regard.attention.part import Sizes
    from regard.attention.position import POSITIONS as positions
    from regard.attention.record import record
    from regard.attention.score import SCORES as scores
    from regard.attention.soft_dict import SoftDict
    from regard.layers.block import Block
    from regard.layers.feed import FEEDS as feeds
    from regard.layers.mixer import MIXERS as mixers
    from regard.layers.residual import Residual
    from regard.loading import load

_processor.hold()  # before torch computes anything

__version__ = "0.1.0"

__all__ = [
    "Attention",
    "Block",
    "MultiHead",
    "Residual",
    "Sizes",
    "SoftDict",
    "attend",
    "backends",
    "explain",
    "feeds",
    "load",
    "masks",
    "memories",
    "mixers",
    "normalizers",
    "positions",
    "record",
    "scores",
]

_HOMES = {
    "Attention": "attention.multihead",
    "Block": "layers.block",
    "MultiHead": "attention.multihead",
    "Residual": "layers.residual",
    "Sizes": "attention.part",
    "SoftDict": "attention.soft_dict",
    "attend": "attention.core",
    "backends": "attention.backend:BACKENDS",
    "explain": "attention.core",
    "feeds": "layers.feed:FEEDS",
    "load": "loading",
    "masks": "attention.mask:MASKS",
    "memories": "attention.memory:MEMORIES",
    "mixers": "layers.mixer:MIXERS",
    "normalizers": "attention.normalizer:NORMALIZERS",
    "positions": "attention.position:POSITIONS",
    "record": "attention.record",
    "scores": "attention.score:SCORES",
}


def __getattr__(name: str) -> Any:
    """Public names are fetched when first used, so that importing the package costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"regard has no '{name}'; it has: {', '.join(__all__)}")
    module, _, inside = _HOMES[name].partition(":")
    value = getattr(importlib.import_module(f"regard.{module}"), inside or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
