"""A run that trains in a moment, as tables that campaigns change."""

from copy import deepcopy
from pathlib import Path
from typing import Any

from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.training.progress import Progress
from tests.tasks.killed import MODEL, TRAINING, settings

TABLES: dict[str, Any] = {
    "name": "tiny",
    "data": {"train": ["train.en", "train.de"], "dev": ["dev.en", "dev.de"], "source": "en", "target": "de"},
    "subwords": {"kind": "character", "size": 40},
    "batches": {"tokens": 64},
    "model": {**MODEL, "dropout": 0.1},
    "decoding": {"name": "beam", "size": 2, "max_length": 2},
    "training": {
        **TRAINING,
        "seed": 1,
        "clip": 1.0,
        "accumulate": 1,
        "optimizer": {"name": "adam", "learning_rate": 0.01},
        "schedule": {"name": "inverse_square_root", "warmup": 4},
    },
}


def write_data(home: Path) -> None:
    """The texts of the run."""
    settings(home)


def changed(where: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The tables with another value at a place."""
    tables = deepcopy(TABLES)
    place = tables
    for name in where[:-1]:
        place = place[name]
    place[where[-1]] = value
    return tables


def train(tables: dict[str, Any], home: Path, folder: Path) -> bytes:
    """Train, and give the model file."""
    train_run(run_of(tables, "tiny"), folder, home, Progress())
    return (folder / "model.safetensors").read_bytes()
