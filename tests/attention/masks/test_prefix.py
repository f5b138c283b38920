import numpy as np
import pytest
import torch

from regard.attention.masks.prefix import Prefix
from regard.base.errors import ConfigError


@pytest.mark.parametrize("size", [0, 1, 3, 6])
def test_all_see_the_prefix_and_the_rest_is_causal(size: int) -> None:
    expected = [[j < size or j <= i for j in range(6)] for i in range(6)]
    assert np.array_equal(Prefix(size)(torch.arange(6), torch.arange(6)).numpy(), expected)


def test_size_is_not_negative() -> None:
    with pytest.raises(ConfigError, match="prefix: size must be at least 0, but is -1"):
        Prefix(-1)
