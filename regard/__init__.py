"""Regard: attention models that train on the machine you have and show how they decide.

>>> import regard
>>> trained = regard.train(["train.en", "train.de"], dev=["dev.en", "dev.de"], training={"steps": 20})
>>> trained.model.translate(["the dog sees the cat"])[0].text
>>> regard.load("runs/en-de").translate(["Two dogs play in the snow."], n_best=3, alignments=True)

>>> from regard import Attention, masks, positions, record
>>> layer = Attention(heads=8, mask=masks.Causal() & masks.Window(128), positions=positions.Alibi()).build(512)
>>> with record(layer) as seen:
...     output = layer(x)

Catalogs hold parts by name: a member is `masks.Window(128)` in Python and `window(128)` in a config, and
`list(masks)` names them all. Of attention there are `scores`, `masks`, `normalizers`, `positions`, `memories` and
`backends`; of layers `feeds`, `messages` and `mixers`; of runs `models`, `tasks`, `optimizers`, `schedules` and
`strategies`.
"""

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from regard.base import processor as _processor
from regard.base import waiting as _waiting

if TYPE_CHECKING:
    from regard.alignment.aligner import Aligner
    from regard.alignment.symmetrizing import symmetrize
    from regard.attention.backend import BACKENDS as backends
    from regard.attention.core import attend, backend_choice
    from regard.attention.mask import MASKS as masks
    from regard.attention.memory import MEMORIES as memories
    from regard.attention.multihead import Attention, MultiHead
    from regard.attention.normalizer import NORMALIZERS as normalizers
    from regard.attention.part import Sizes
    from regard.attention.position import POSITIONS as positions
    from regard.attention.record import record
    from regard.attention.score import SCORES as scores
    from regard.attention.soft_dict import SoftDict
    from regard.audit.auditing import audit
    from regard.audit.subject import Subject
    from regard.audit.verdict import AuditReport
    from regard.base.errors import RegardError
    from regard.data.links import Link, read_gold
    from regard.decoding.generator import Generator
    from regard.decoding.sentence_encoder import SentenceEncoder
    from regard.decoding.strategy import STRATEGIES as strategies
    from regard.decoding.translator import Translator
    from regard.inspection.explanation.explain import explain
    from regard.layers.block import Block
    from regard.layers.feed import FEEDS as feeds
    from regard.layers.message import MESSAGES as messages
    from regard.layers.mixer import MIXERS as mixers
    from regard.layers.residual import Residual
    from regard.learning import Trained, train
    from regard.loading import load
    from regard.metrics.alignment_error import error_rates
    from regard.models.model import MODELS as models
    from regard.saving import save
    from regard.tasks.task import TASKS as tasks
    from regard.training.interrupt import Interrupted
    from regard.training.optimizer import OPTIMIZERS as optimizers
    from regard.training.progress import Progress
    from regard.training.schedule import SCHEDULES as schedules

_waiting.wait_passively()  # before torch is loaded
_processor.hold()  # before torch computes anything

__version__ = "1.0.0rc1"

_HOMES = {
    "Aligner": "alignment.aligner",
    "Attention": "attention.multihead",
    "AuditReport": "audit.verdict",
    "Block": "layers.block",
    "Generator": "decoding.generator",
    "Interrupted": "training.interrupt",
    "Link": "data.links",
    "MultiHead": "attention.multihead",
    "Progress": "training.progress",
    "RegardError": "base.errors",
    "Residual": "layers.residual",
    "SentenceEncoder": "decoding.sentence_encoder",
    "Sizes": "attention.part",
    "SoftDict": "attention.soft_dict",
    "Subject": "audit.subject",
    "Trained": "learning",
    "Translator": "decoding.translator",
    "attend": "attention.core",
    "audit": "audit.auditing",
    "backend_choice": "attention.core",
    "backends": "attention.backend:BACKENDS",
    "error_rates": "metrics.alignment_error",
    "explain": "inspection.explanation.explain",
    "feeds": "layers.feed:FEEDS",
    "load": "loading",
    "masks": "attention.mask:MASKS",
    "memories": "attention.memory:MEMORIES",
    "messages": "layers.message:MESSAGES",
    "mixers": "layers.mixer:MIXERS",
    "models": "models.model:MODELS",
    "normalizers": "attention.normalizer:NORMALIZERS",
    "optimizers": "training.optimizer:OPTIMIZERS",
    "positions": "attention.position:POSITIONS",
    "read_gold": "data.links",
    "record": "attention.record",
    "save": "saving",
    "schedules": "training.schedule:SCHEDULES",
    "scores": "attention.score:SCORES",
    "strategies": "decoding.strategy:STRATEGIES",
    "symmetrize": "alignment.symmetrizing",
    "tasks": "tasks.task:TASKS",
    "train": "learning",
}

__all__ = [
    "Aligner",
    "Attention",
    "AuditReport",
    "Block",
    "Generator",
    "Interrupted",
    "Link",
    "MultiHead",
    "Progress",
    "RegardError",
    "Residual",
    "SentenceEncoder",
    "Sizes",
    "SoftDict",
    "Subject",
    "Trained",
    "Translator",
    "attend",
    "audit",
    "backend_choice",
    "backends",
    "error_rates",
    "explain",
    "feeds",
    "load",
    "masks",
    "memories",
    "messages",
    "mixers",
    "models",
    "normalizers",
    "optimizers",
    "positions",
    "read_gold",
    "record",
    "save",
    "schedules",
    "scores",
    "strategies",
    "symmetrize",
    "tasks",
    "train",
]


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


class _FrontDoor(ModuleType):
    """`regard.models` and `regard.tasks` are catalogs and `regard.audit` a function, not the folders of these names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):  # Python sets an imported folder as an attribute
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
