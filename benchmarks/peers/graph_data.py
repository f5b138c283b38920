"""The graphs of the benchmark of graph networks, the same for every contestant: from an `.npz` file, or generated."""

from typing import Any

import numpy as np
import torch
from torch import Tensor


def read(place: str) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
    """Dense features, edges in both directions (from, to), labels, the training nodes, and the number of classes.

    `million` is a generated graph of a million edges, 100,000 nodes with 64 features and 10 classes.
    """
    if place == "million":
        draw = torch.Generator().manual_seed(1)
        edges = torch.randint(0, 100_000, (2, 500_000), generator=draw)
        features, labels = torch.randn(100_000, 64, generator=draw), torch.randint(0, 10, (100_000,), generator=draw)
        return features, _both(edges, 100_000), labels, torch.arange(1_000), 10
    arrays: dict[str, Any] = dict(np.load(place, allow_pickle=False))
    height, width = arrays["feature_shape"].tolist()
    features = torch.zeros(height, width)
    rows = torch.repeat_interleave(torch.arange(height), torch.from_numpy(np.diff(arrays["feature_indptr"])))
    features[rows, torch.from_numpy(arrays["feature_indices"]).long()] = torch.from_numpy(arrays["feature_values"])
    features /= features.sum(1, keepdim=True).clamp(min=1)
    edges, labels = torch.from_numpy(arrays["edges"].astype(np.int64)).T, arrays["labels"].astype(np.int64)
    train = torch.from_numpy(arrays["train"])
    return features, _both(edges, height), torch.from_numpy(labels), train, int(labels.max()) + 1


def _both(edges: Tensor, nodes: int) -> Tensor:
    """Edges in both directions, each once, sorted by where they go."""
    both = torch.cat((edges, edges.flip(0)), 1)
    codes = torch.unique(both[1] * nodes + both[0])
    return torch.stack((codes % nodes, codes // nodes))
