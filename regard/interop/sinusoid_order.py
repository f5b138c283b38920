"""The same Transformer with its sinusoidal positions in another order: a permutation of the width, in all weights.

What a layer computes does not depend on the order of the vector's components, as long as all weights that read or
write them agree: x' = P x, with W' = W Pᵀ where W reads x, and W' = P W where it writes x.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.attention.positions.sinusoidal import Sinusoidal

_READS = (".table.weight", "joint.weight", "query.weight", "source.weight", "inner.weight", "output.weight")
_WRITES = ("attention.output.weight", "cross.output.weight", "outer.weight")
_VECTORS = ("attention.output.bias", "cross.output.bias", "outer.bias")


def in_halves(design: Any, weights: Mapping[str, Tensor]) -> tuple[Any, Mapping[str, Tensor]]:
    """The design and the weights with all sines before all cosines; other positions stay as they are."""
    positions = design.positions
    plain = isinstance(positions, Sinusoidal) and (positions.join, positions.layers) == ("add", "first")
    if not plain or positions.order == "halves":
        return design, weights
    order = torch.cat([torch.arange(0, design.width, 2), torch.arange(1, design.width, 2)])
    moved = {name: _moved(name, weight, order) for name, weight in weights.items()}
    return replace(design, positions=replace(positions, order="halves")), moved


def _moved(name: str, weight: Tensor, order: Tensor) -> Tensor:
    if name.endswith(_WRITES) or name.endswith(_VECTORS) or ".norms." in name or ".norm." in name:
        return weight[order]
    return weight[:, order] if name.endswith(_READS) else weight
