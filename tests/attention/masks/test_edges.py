import numpy as np
import pytest
import torch

from regard.attention.masks.edges import Edges
from regard.base.errors import ShapeError


@pytest.mark.parametrize("seed", range(5))
def test_a_node_sees_the_nodes_with_an_edge_to_it(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = random.integers(0, 6, size=(2, 9))
    expected = np.zeros((8, 8), dtype=bool)
    for source, target in pairs.T:
        expected[target, source] = True
    keep = Edges(torch.tensor(pairs))(torch.arange(8), torch.arange(8))
    assert np.array_equal(keep.numpy(), expected)


def test_repeated_edges_count_once() -> None:
    once, twice = torch.tensor([[0], [1]]), torch.tensor([[0, 0], [1, 1]])
    at = torch.arange(2)
    assert torch.equal(Edges(once)(at, at), Edges(twice)(at, at))


def test_without_edges_nothing_is_seen() -> None:
    assert not Edges(torch.empty(2, 0, dtype=torch.long))(torch.arange(3), torch.arange(3)).any()


@pytest.mark.parametrize(
    "pairs", [torch.zeros(3, 4, dtype=torch.long), torch.zeros(2, dtype=torch.long), torch.rand(2, 4)]
)
def test_edges_are_two_rows_of_whole_numbers(pairs: torch.Tensor) -> None:
    with pytest.raises(ShapeError, match=r"edges: they must be whole numbers of shape \[2, edges\], but are"):
        Edges(pairs)
