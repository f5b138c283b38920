import pytest
import torch
from torch import Tensor

from regard.attention.masks.matrix import Matrix
from regard.base.errors import ShapeError


@pytest.fixture
def matrix() -> Tensor:
    return torch.rand(2, 3, 5, 6) < 0.5


@pytest.mark.parametrize("axes", [2, 3, 4])
@pytest.mark.parametrize("batched", [False, True])
def test_looks_pairs_up(matrix: Tensor, axes: int, batched: bool) -> None:
    spelled = {2: matrix[0, 0], 3: matrix[:, 0], 4: matrix}[axes]
    query_at, key_at = torch.tensor([4, 0, 2]), torch.tensor([5, 1])
    if batched:
        query_at, key_at = torch.stack([query_at, query_at.flip(0)]), torch.stack([key_at, key_at - 1])
    keep = Matrix(spelled)(query_at, key_at).expand(2, 3, 3, 2)
    for batch in range(2):
        for head in range(3):
            for row in range(3):
                for column in range(2):
                    i = query_at[batch, row] if batched else query_at[row]
                    j = key_at[batch, column] if batched else key_at[column]
                    expected = {2: matrix[0, 0], 3: matrix[batch, 0], 4: matrix[batch, head]}[axes][i, j]
                    assert keep[batch, head, row, column] == expected


def test_one_matrix_serves_a_whole_batch(matrix: Tensor) -> None:
    at = torch.arange(5).expand(4, -1)
    assert torch.equal(Matrix(matrix[:1])(at, at), matrix[:1, :, :, :5].expand(4, -1, -1, -1))


def test_numbers_are_no_mask() -> None:
    with pytest.raises(ShapeError, match=r"matrix: must be bool.*but is torch.float32 of shape \[2, 2\]"):
        Matrix(torch.eye(2))
    with pytest.raises(ShapeError, match=r"at most \(batch, heads\), but is torch.bool of shape \[4\]"):
        Matrix(torch.ones(4, dtype=torch.bool))


def test_positions_past_its_end_are_refused(matrix: Tensor) -> None:
    with pytest.raises(ShapeError, match="matrix: a query stands at 5, but the matrix has room for 5"):
        Matrix(matrix)(torch.tensor([0, 5]), torch.tensor([0]))
    with pytest.raises(ShapeError, match="matrix: a key stands at 8, but the matrix has room for 6"):
        Matrix(matrix)(torch.tensor([0]), torch.tensor([8]))
