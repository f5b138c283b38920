"""Tensors that are cut into rows among ranks, as FSDP2 cuts weights: a rank's own rows, and the whole again.

torch calls them DTensor. The functions here take plain tensors too, of which a process has all rows. torch's module is
imported where ranks share tensors, since that takes a second.
"""

from typing import Any

import torch
from torch import Tensor


def shared_tensor(tensor: Tensor) -> Any:
    """The tensor as the DTensor that it is; None for a plain tensor."""
    return tensor if hasattr(tensor, "device_mesh") else None


def own_rows(tensor: Tensor) -> Tensor:
    """The rows that this rank holds, in the same memory."""
    shared = shared_tensor(tensor)
    rows: Tensor = tensor if shared is None else shared.to_local()
    return rows


def whole_tensor(tensor: Tensor) -> Tensor:
    """All rows; ranks that share the tensor must all ask for it."""
    shared = shared_tensor(tensor)
    whole: Tensor = tensor if shared is None else shared.full_tensor()
    return whole


def row_range(rows: int, rank: int, ranks: int) -> tuple[int, int]:
    """The rows of a rank: even chunks, of which the last ones may be shorter or empty."""
    chunk = -(-rows // ranks)
    return min(rows, chunk * rank), min(rows, chunk * (rank + 1))


def range_of(tensor: Tensor) -> tuple[int, int] | None:
    """The rows of a shared tensor that this rank holds, as numbers; None for a plain tensor."""
    shared = shared_tensor(tensor)
    if shared is None:
        return None
    mesh = shared.device_mesh
    return row_range(tensor.shape[0], mesh.get_local_rank(), mesh.size())


def like_rows(tensor: Tensor, rows: Tensor) -> Tensor:
    """A tensor that is shared like another one, of which this rank's rows are given."""
    shared = shared_tensor(tensor)
    if shared is None:
        return rows
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        rows, shared.device_mesh, shared.placements, shape=tensor.shape, stride=tensor.stride(), run_check=False
    )


def set_rows(tensor: Tensor, whole: Tensor) -> None:
    """Copy this rank's rows out of a whole tensor."""
    bounds = range_of(tensor)
    with torch.no_grad():
        own_rows(tensor).copy_(whole if bounds is None else whole[slice(*bounds)])
