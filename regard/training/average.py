"""Checkpoint averaging: the mean of several checkpoints' weights often does better than each of them.

    w = Σ_n w_n / N

Izmailov et al., Averaging Weights Leads to Wider Optima, 2018, https://arxiv.org/abs/1803.05407; for Transformers,
Popel and Bojar, 2018, https://arxiv.org/abs/1804.00247, section 4.10
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from regard.base.errors import RegardError
from regard.runs.artifact import Artifact
from regard.runs.snapshot import open_artifact


def average_tensors(sets: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each tensor, summed in float64 one set at a time; whole numbers are taken from the last set."""
    sums: dict[str, Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    count = 0
    for weights in sets:
        if count and weights.keys() != sums.keys():
            odd = sorted(weights.keys() ^ sums.keys())[0]
            raise RegardError(f"average: the tensor '{odd}' is in some of the sets of weights, but not in all")
        for name, tensor in weights.items():
            if count and tensor.shape != sums[name].shape:
                raise RegardError(f"average: the tensor '{name}' has different shapes")
            kinds[name] = tensor.dtype
            wide = tensor.double() if tensor.is_floating_point() else tensor
            sums[name] = sums[name] + wide if count and tensor.is_floating_point() else wide.clone()
        count += 1
    if not count:
        raise RegardError("average: there is nothing to average")
    return {
        name: (tensor / count).to(kinds[name]) if tensor.is_floating_point() else tensor
        for name, tensor in sums.items()
    }


def average_artifacts(paths: Sequence[str | Path]) -> Artifact:
    """The mean of models that differ in their weights alone; the rest is the first one's."""
    if not paths:
        raise RegardError("average: there is nothing to average")
    first = open_artifact(paths[0])

    def checked(path: str | Path) -> Mapping[str, Tensor]:
        other = open_artifact(path)
        for what in ("task", "sizes", "tokenizers"):
            if getattr(other, what) != getattr(first, what):
                raise RegardError(f"average: {path} and {paths[0]} have different {what}")
        if other.config.get("model") != first.config.get("model"):
            raise RegardError(f"average: {path} and {paths[0]} are models of different settings")
        return other.weights

    return first.with_weights(average_tensors(map(checked, paths)))
