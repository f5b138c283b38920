"""A small classification of pictures: bars that stand or lie."""

from pathlib import Path

import numpy as np

RUN = """
name = "bars"
task = "pictures"
[data]
train = ["train.npz"]
dev = ["dev.npz"]
[batches]
pictures = 16
[augment]
shift = 1.0
[model]
name = "vit"
layers = 1
width = 16
heads = 2
patch = 4
stochastic_depth = 0.2
dropout = 0.1
[training]
steps = 40
lanes = 1
validate_every = 20
checkpoint_every = 20
metric = "accuracy"
[training.optimizer]
name = "adam"
learning_rate = 0.01
[training.schedule]
name = "constant"
"""


def bars(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of 8 × 8 with one bright bar in noise."""
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 90, (count, 8, 8), dtype=np.uint8)
    lying = draw.integers(0, 2, count)
    for picture, way, at in zip(pixels, lying, draw.integers(1, 7, count), strict=True):
        picture[at if way else slice(None), slice(None) if way else at] = 255
    return pixels, np.where(lying == 1, "lying", "standing")


def write_bars(folder: Path) -> None:
    """The run and its data."""
    for seed, (part, count) in enumerate({"train": 128, "dev": 32, "test": 32}.items()):
        pixels, labels = bars(count, seed)
        np.savez(folder / f"{part}.npz", pictures=pixels, labels=labels)
    (folder / "run.toml").write_text(RUN, encoding="utf-8")
