import pytest
import torch

from regard.attention.masks.padding import Padding
from regard.base.errors import ShapeError


def test_hides_what_lies_beyond_the_end() -> None:
    keep = Padding(torch.tensor([2, 0, 4]))(torch.arange(3), torch.arange(4))
    assert keep.shape == (3, 1, 3, 4)
    for row in range(3):
        assert keep[:, 0, row].tolist() == [[True, True, False, False], [False] * 4, [True] * 4]


def test_goes_by_positions() -> None:
    keep = Padding(torch.tensor([2]))(torch.arange(1), torch.tensor([5, 1, 2]))
    assert keep.flatten().tolist() == [False, True, False]


def test_hides_whole_keys() -> None:
    assert Padding(torch.tensor([2])).keys_only


@pytest.mark.parametrize(
    ("lengths", "found"),
    [(torch.tensor([1.0]), r"\[1\] of torch.float32"), (torch.tensor([[1, 2]]), r"\[1, 2\] of torch.int64")],
)
def test_lengths_are_whole_numbers_one_for_each_sequence(lengths: torch.Tensor, found: str) -> None:
    with pytest.raises(
        ShapeError, match=rf"padding: lengths must be whole numbers of shape \[batch\], but are {found}"
    ):
        Padding(lengths)
