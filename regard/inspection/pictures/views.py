"""Masks, positions and normalizers as arrays to draw."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.attention.normalizer import Normalizer
from regard.attention.part import Sizes
from regard.attention.position import Bias, Position, Role
from regard.base.errors import UsageError

Array = NDArray[np.floating]


def sizes_of(width: int, heads: int) -> Sizes:
    """The sizes of an attention that is built for drawing; every vector has the same width."""
    return Sizes(width=width, heads=heads, key_heads=heads, query_width=width, key_width=width, value_width=width)


def view_mask(mask: Mask, length: int) -> NDArray[np.bool_]:
    """A mask over the first positions, [panels, query, key]; one panel unless heads or batch differ."""
    at = torch.arange(length)
    keep = mask(at, at).reshape(-1, length, length)
    if bool((keep == keep[:1]).all()):
        keep = keep[:1]
    return keep.numpy()


@dataclass(frozen=True, eq=False)
class PositionView:
    """Position encodings as arrays."""

    reading: str
    """what the numbers are"""
    pairs: Array
    """[heads, query, key]"""
    vectors: Array | None = None
    """what is added to the vector at each position, [length, width], where anything is"""
    learned: bool = False
    """there are learned weights, shown at initialization"""


def view_position(position: Position, length: int, sizes: Sizes) -> PositionView:
    """What positions add to logits or vectors, or the logits of placed queries and keys; weights are untrained."""
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built = position.build(sizes)
        learned = isinstance(built, nn.Module) and any(True for _ in built.parameters())
        at = torch.arange(length)
        if isinstance(built, Bias):
            return PositionView("added to the logits", _bias(built, at, sizes), learned=learned)
        for role in get_args(Role):
            vectors = _added(built, at, sizes, role)
            if vectors is not None:
                pairs = _array(vectors @ vectors.mT)[None]
                return PositionView("pᵢ · pⱼ", pairs, _array(vectors), learned)
        return PositionView("logits of a constant vector with itself", _meeting(built, at, sizes), learned=learned)


def view_normalizer(normalizer: Normalizer, logits: Array) -> Array:
    """The weights that one query gives to keys with these logits, [key].

    A normalizer that divides by the sum needs nonnegative logits: it gets their difference from the lowest.
    """
    given = torch.as_tensor(logits, dtype=torch.float32)
    if normalizer.proportional:
        given = given - given.min()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built = normalizer.build(sizes_of(width=8, heads=1))
        return _array(built(given[None, None, None]).reshape(-1))


def _bias(built: Bias, at: Tensor, sizes: Sizes) -> Array:
    """The bias of each pair; queries and keys, where it reads them, are all the same vector."""
    same = torch.randn(sizes.heads, 1, sizes.query_width).expand(1, sizes.heads, len(at), sizes.query_width)
    bias = built(same, same, at, at)
    bias = bias.expand(*bias.shape[:-2], len(at), len(at)).reshape(-1, len(at), len(at))
    return _array(bias[: sizes.heads])


def _added(built: Position, at: Tensor, sizes: Sizes, role: Role) -> Tensor | None:
    """What positions add to zero vectors; None if nothing."""
    split = role in ("query", "key", "value")
    zeros = torch.zeros(1, sizes.heads, len(at), sizes.query_width) if split else torch.zeros(1, len(at), sizes.width)
    placed = built.place(zeros, at, role)
    if placed.shape[-1] > zeros.shape[-1]:  # concatenated, not added
        placed = placed[..., zeros.shape[-1] :]
    vectors = placed[0].transpose(0, 1).flatten(1) if split else placed[0]
    return vectors if bool(vectors.any()) else None


def _meeting(built: Position, at: Tensor, sizes: Sizes) -> Array:
    ones = torch.ones(1, 1, len(at), sizes.query_width)
    query, key = built.place(ones, at, "query"), built.place(ones, at, "key")
    if torch.equal(query, ones) and torch.equal(key, ones):
        name = type(built).__name__
        raise UsageError(f"draw: {name} changes neither vectors nor logits, so there is nothing to draw")
    return _array((query @ key.mT)[0] / sizes.query_width)


def _array(tensor: Tensor) -> Array:
    array: Array = tensor.detach().to(torch.float64).numpy()
    return array
