import numpy as np
import pytest
import torch

from regard.attention.masks.strided import Strided
from regard.attention.masks.window import Window
from regard.base.errors import ConfigError


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_sees_its_column_before_and_after(stride: int) -> None:
    expected = [[abs(i - j) % stride == 0 for j in range(9)] for i in range(7)]
    assert np.array_equal(Strided(stride)(torch.arange(7), torch.arange(9)).numpy(), expected)


def test_with_a_window_two_steps_reach_everything() -> None:
    at = torch.arange(16)
    keep = (Window(4) | Strided(4))(at, at).float()
    assert (keep @ keep > 0).all()
    assert keep.mean() < 0.7


def test_stride_is_at_least_one() -> None:
    with pytest.raises(ConfigError, match="strided: stride must be at least 1, but is 0"):
        Strided(0)
