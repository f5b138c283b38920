"""The ways of fine-tuning that `regard init --from` offers: what learns, how fast, and how often it sees the examples.

The learning rates are those usual for small models: 1e-4 for all weights, ten times that for adapters, and more for a
head alone, which begins at random.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from regard.base.errors import ConfigError, UsageError, unknown
from regard.models.model import Design
from regard.training.tuning import fix_all_but_head


@dataclass(frozen=True)
class Way:
    """A way of fine-tuning, with what goes with it."""

    tuning: str
    rate: float
    epochs: int
    words: str
    validations: int = 8
    consistency: float = 0.0
    """R-Drop; a head on fixed features has no dropout below it, by which two readings would differ"""


TUNING_WAYS = {
    "all": Way("all(decay=0.9)", 1e-4, 4, "all weights learn, lower layers more slowly", 10, 1.0),
    "frozen": Way("frozen", 2e-3, 20, "the features stay as they are, and a new head learns", 20),
    "adapters": Way("adapters(rank=8)", 1e-3, 4, "low-rank adapters (LoRA) and a new head learn", 10, 1.0),
}


def way_of(name: str) -> Way:
    """The way of this name."""
    if name not in TUNING_WAYS:
        raise UsageError(unknown("--tuning", name, TUNING_WAYS, "ways of fine-tuning"))
    return TUNING_WAYS[name]


def check_learns(way: Way, design: Design, sizes: Mapping[str, int], base: Path) -> None:
    """Refuse features that stay as they are where the model has nothing beside them that could learn."""
    if way.tuning != "frozen":
        return
    with torch.device("meta"):
        model = design.build(sizes)
    try:
        fix_all_but_head(model, (), "frozen")
    except ConfigError as error:
        raise UsageError(
            f"{base}: has no output of its own that could learn while the rest is frozen; --tuning all and adapters can"
        ) from error
