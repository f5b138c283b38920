"""A small graph of two groups of nodes, and a run that learns which is which."""

from pathlib import Path

import numpy as np

RUN = """
name = "groups"
task = "nodes"
[data]
train = ["graph.npz"]
[model]
name = "graph_network"
preset = "gat"
width = 8
dropout = 0.1
[model.message]
name = "gat"
heads = 2
[training]
steps = 60
validate_every = 20
checkpoint_every = 20
metric = "accuracy"
[training.optimizer]
learning_rate = 0.02
l2 = 5e-4
[training.schedule]
name = "constant"
"""


def write_graph(place: Path, nodes: int = 40, **changed: object) -> Path:
    """Edges within a group are common, those between the groups rare; features hardly tell the groups apart."""
    draw = np.random.default_rng(1)
    labels = np.arange(nodes) % 2
    close = draw.random((nodes, nodes)) < np.where(labels[:, None] == labels, 0.25, 0.01)
    order = draw.permutation(nodes)
    arrays = {
        "edges": np.argwhere(np.triu(close, 1)),
        "features": draw.normal(size=(nodes, 4)) + labels[:, None] * 0.8,
        "labels": labels,
        "train": order[: nodes // 4],
        "dev": order[nodes // 4 : nodes // 2],
        "test": order[nodes // 2 :],
    }
    kept = {name: value for name, value in (arrays | changed).items() if value is not None}
    np.savez(place / "graph.npz", **kept)  # type: ignore[arg-type]
    (place / "run.toml").write_text(RUN, encoding="utf-8")
    return place / "graph.npz"
