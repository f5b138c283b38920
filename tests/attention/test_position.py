import numpy as np
import pytest
import torch
from torch import Tensor

from regard.attention.position import Bias, Position, PositionVectors, distances, from_table, sinusoid
from regard.base.errors import UsageError


def test_no_positions_place_nothing() -> None:
    x = torch.randn(1, 3, 4)
    assert Position().place(x, torch.arange(3), "input") is x
    assert Position().widened(4, "projection") == 4


def test_distances_are_query_less_key() -> None:
    apart = distances(torch.tensor([5, 0]), torch.tensor([1, 2, 5]))
    assert apart.tolist() == [[4, 3, 0], [-1, -2, -5]]
    batched = distances(torch.tensor([[5, 0], [1, 1]]), torch.tensor([[1], [3]]))
    assert batched.shape == (2, 1, 2, 1)
    assert batched.flatten().tolist() == [4, -1, -2, -2]


def test_tables_are_read_for_each_head() -> None:
    table = torch.arange(6.0).view(2, 3)
    assert from_table(table, torch.tensor([[0, 2]])).tolist() == [[[0.0, 2.0]], [[3.0, 5.0]]]
    batched = from_table(table, torch.tensor([[[[0, 2]]], [[[1, 1]]]]))
    assert batched.shape == (2, 2, 1, 2)
    assert batched[1].flatten().tolist() == [1.0, 1.0, 4.0, 4.0]


@pytest.mark.parametrize("width", [2, 5])
def test_sinusoids_of_distances_may_be_negative(width: int) -> None:
    at = torch.tensor([-3.0, 0.0, 4.0])
    waves = sinusoid(at, width, base=50.0).numpy()
    for row, position in enumerate((-3, 0, 4)):
        for dimension in range(width):
            wave = np.sin if dimension % 2 == 0 else np.cos
            np.testing.assert_allclose(waves[row, dimension], wave(position / 50 ** (2 * (dimension // 2) / width)))


def test_parts_without_a_formula_say_so() -> None:
    query, at = torch.randn(1, 1, 2, 3), torch.arange(2)
    with pytest.raises(UsageError, match="Bias has weights"):
        Bias()(query, query, at, at)
    with pytest.raises(UsageError, match="Bias has weights"):
        Bias().output(torch.rand(1, 1, 2, 2), at, at)
    with pytest.raises(UsageError, match="PositionVectors has weights"):
        PositionVectors().vectors(at, 4)


def test_new_vectors_write_their_formula_alone() -> None:
    class Count(PositionVectors):
        join, layers, width = "add", "every", None

        def vectors(self, at: Tensor, width: int) -> Tensor:
            return at[..., None].expand(*at.shape, width).double()

    x = torch.zeros(2, 3, 4, 5)
    placed = Count().place(x, torch.arange(4), "value")
    assert torch.equal(placed, torch.arange(4.0)[:, None].expand_as(x))
    assert Count().place(x, torch.arange(4), "input") is x
