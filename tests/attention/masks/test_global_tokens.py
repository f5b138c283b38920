import numpy as np
import pytest
import torch

from regard.attention.masks.global_tokens import GlobalTokens
from regard.base.errors import ConfigError


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_first_see_all_and_are_seen_by_all(count: int) -> None:
    expected = [[i < count or j < count for j in range(5)] for i in range(6)]
    assert np.array_equal(GlobalTokens(count)(torch.arange(6), torch.arange(5)).numpy(), expected)


def test_count_is_not_negative() -> None:
    with pytest.raises(ConfigError, match="global_tokens: count must be at least 0, but is -1"):
        GlobalTokens(-1)
