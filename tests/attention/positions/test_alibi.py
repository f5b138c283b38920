import numpy as np
import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.positions.alibi import Alibi, AlibiSlopes

PAPER = [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
TWELVE = [*PAPER, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
SIXTEEN = [2 ** (-(head + 1) / 2) for head in range(16)]


def built(heads: int) -> AlibiSlopes:
    return Alibi().build(Sizes(width=8, heads=heads, key_heads=heads, query_width=4, key_width=4, value_width=4))


@pytest.mark.parametrize(("heads", "slopes"), [(8, PAPER), (12, TWELVE), (16, SIXTEEN), (1, [1 / 256])])
def test_slopes_are_those_of_the_paper(heads: int, slopes: list[float]) -> None:
    np.testing.assert_allclose(built(heads).slopes.numpy(), slopes, rtol=1e-6)


@pytest.mark.parametrize("heads", [2, 3, 5, 6, 7, 9, 20])
def test_there_are_as_many_slopes_as_heads(heads: int) -> None:
    assert len(set(built(heads).slopes.tolist())) == heads


def test_is_the_formula() -> None:
    query, key = torch.randn(1, 8, 3, 4, dtype=torch.float64), torch.randn(1, 8, 4, 4, dtype=torch.float64)
    query_at, key_at = [0, 5, 2], [1, 0, 7, 5]
    bias = built(8)(query, key, torch.tensor(query_at), torch.tensor(key_at))
    for head, i, j in np.ndindex(8, 3, 4):
        assert bias[head, i, j].item() == -PAPER[head] * abs(query_at[i] - key_at[j])
