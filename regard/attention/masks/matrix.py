"""keep(i, j) = matrix[i, j]"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.base.errors import ShapeError


@dataclass(frozen=True, eq=False)
class Matrix(Mask):
    """An arbitrary mask as a tensor: [query, key], [batch, query, key] or [batch, heads, query, key]."""

    matrix: Tensor
    """bool, True where a query may attend; given in Python, not in a run file"""

    def __post_init__(self) -> None:
        if self.matrix.dtype != torch.bool or not 2 <= self.matrix.dim() <= 4:
            found = f"{self.matrix.dtype} of shape {list(self.matrix.shape)}"
            raise ShapeError(f"matrix: must be bool, [query, key] after at most (batch, heads), but is {found}")

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        for name, at, size in (("query", rows, self.matrix.shape[-2]), ("key", columns, self.matrix.shape[-1])):
            if at.numel() and int(at.max()) >= size:
                raise ShapeError(f"matrix: a {name} stands at {int(at.max())}, but the matrix has room for {size}")
        matrix = self.matrix.to(rows.device)
        if matrix.dim() == 2:
            return matrix[rows, columns]
        matrix = matrix[:, None] if matrix.dim() == 3 else matrix
        if rows.dim() == 2:
            return matrix[..., rows, columns]
        batch = torch.arange(matrix.shape[0], device=rows.device)[:, None, None, None]
        heads = torch.arange(matrix.shape[1], device=rows.device)[:, None, None]
        return matrix[batch, heads, rows, columns]

    def select(self, heads: Tensor) -> "Matrix":
        alike = self.matrix.dim() < 4 or self.matrix.shape[1] == 1
        return self if alike else Matrix(self.matrix[:, heads.to(self.matrix.device)])
