import pytest
import torch

from regard.attention import edge_sums
from regard.attention.edge_sums import dot_products, edge_softmax, weighted_sum

ROWS = torch.tensor([0, 0, 0, 2, 2, 4])
COLUMNS = torch.tensor([1, 2, 3, 0, 3, 2])


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(
        *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)), requires_grad=True
    )


@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_sums_are_those_of_a_loop(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_sums, "_BLOCK_FLOATS", block)
    weights, values = numbers(6, 2), numbers(4, 2, 3)
    expected = torch.zeros(5, 2, 3, dtype=torch.float64)
    for at, (row, column) in enumerate(zip(ROWS.tolist(), COLUMNS.tolist(), strict=True)):
        expected[row] += weights[at, :, None] * values[column]
    torch.testing.assert_close(weighted_sum(weights, values, ROWS, COLUMNS, 5), expected)
    products = torch.stack(
        [(expected[row] * values[column]).sum(-1) for row, column in zip(ROWS, COLUMNS, strict=True)]
    )
    torch.testing.assert_close(dot_products(expected, values, ROWS, COLUMNS), products)


def test_softmax_is_that_of_each_query() -> None:
    logits = numbers(6, 2).detach()
    logits[2, 0] = logits[5] = float("-inf")
    weights = edge_softmax(logits, ROWS, 5)
    for row in (0, 2):
        torch.testing.assert_close(weights[row == ROWS], logits[row == ROWS].softmax(0))
    assert weights[2, 0] == 0
    assert not weights[5].any()  # a query whose only key is hidden


def test_huge_logits_stay_finite() -> None:
    weights = edge_softmax(torch.full((6, 1), 1e4), ROWS, 5)
    torch.testing.assert_close(weights[:3, 0], torch.full((3,), 1 / 3))


def test_gradients_are_slopes() -> None:
    torch.autograd.gradcheck(lambda logits: edge_softmax(logits, ROWS, 5), numbers(6, 2))
    torch.autograd.gradcheck(lambda w, v: weighted_sum(w, v, ROWS, COLUMNS, 5), (numbers(6, 2), numbers(4, 2, 3)))
    torch.autograd.gradcheck(lambda a, b: dot_products(a, b, ROWS, COLUMNS), (numbers(5, 2, 3), numbers(4, 2, 3)))
