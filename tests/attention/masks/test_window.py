import numpy as np
import pytest
import torch

from regard.attention.mask import MASKS
from regard.attention.masks.window import Window
from regard.base.errors import ConfigError


@pytest.mark.parametrize(("size", "ahead"), [(1, None), (3, None), (3, 0), (2, 4), (20, None)])
def test_is_a_band(size: int, ahead: int | None) -> None:
    reach = size - 1 if ahead is None else ahead
    expected = [[-reach <= i - j < size for j in range(9)] for i in range(7)]
    keep = Window(size, ahead)(torch.arange(7), torch.arange(9))
    assert np.array_equal(keep.numpy(), expected)


def test_size_one_sees_itself_alone() -> None:
    assert torch.equal(Window(1)(torch.arange(5), torch.arange(5)), torch.eye(5, dtype=torch.bool))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="window: size must be at least 1, but is 0"):
        Window(0)
    with pytest.raises(ConfigError, match="window: ahead must be at least 0, but is -2"):
        MASKS.make("window(3, ahead=-2)")
