import itertools

import numpy as np
import pytest
import torch

from regard.attention.mask import MASKS
from regard.attention.masks.causal import Causal
from regard.attention.masks.permutation import Permutation
from regard.base.errors import ConfigError, ShapeError


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_sees_what_the_order_puts_before(order: tuple[int, ...], strict: bool) -> None:
    expected = np.zeros((4, 4), dtype=bool)
    for turn, position in enumerate(order):
        expected[position, list(order[:turn])] = True
        expected[position, position] = not strict
    assert np.array_equal(Permutation(order, strict)(torch.arange(4), torch.arange(4)).numpy(), expected)


def test_the_natural_order_is_causal() -> None:
    at = torch.arange(5)
    assert torch.equal(Permutation(tuple(range(5)))(at, at), Causal()(at, at))


def test_is_written_with_a_list() -> None:
    assert MASKS.make("permutation([2, 0, 1], strict=True)") == Permutation((2, 0, 1), strict=True)


def test_the_order_holds_each_position_once() -> None:
    with pytest.raises(ConfigError, match=r"order must hold each of 0 … 2 once, but is \[0, 2, 2\]"):
        Permutation((0, 2, 2))


@pytest.mark.parametrize(("query", "key", "role"), [(3, 0, "query"), (0, 5, "key")])
def test_positions_past_the_order_are_refused(query: int, key: int, role: str) -> None:
    beyond = max(query, key)
    with pytest.raises(ShapeError, match=f"permutation: a {role} stands at {beyond}, but the order has 3 positions"):
        Permutation((2, 0, 1))(torch.tensor([query]), torch.tensor([key]))
