from fractions import Fraction

import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.position import POSITIONS
from regard.attention.positions.buckets import Buckets
from regard.base.errors import ConfigError


def bucket(ahead: int, buckets: int, farthest: int, direction: str) -> int:
    """One pair at a time, in whole numbers: the last step s with (far / exact)^shared ≥ (farthest / exact)^s."""
    side = 0
    if direction == "both":
        buckets //= 2
        side = buckets if ahead > 0 else 0
        far = abs(ahead)
    else:
        far = max(-ahead, 0)
    exact = buckets // 2
    if far < exact:
        return side + far
    shared = buckets - exact
    step = 0
    while step < shared - 1 and Fraction(far, exact) ** shared >= Fraction(farthest, exact) ** (step + 1):
        step += 1
    return side + exact + step


@pytest.mark.parametrize("direction", ["both", "back"])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 20), (6, 9), (5, 64), (64, 256)])
def test_is_the_layout_of_t5(buckets: int, farthest: int, direction: str) -> None:
    ahead = torch.arange(-300, 301)
    expected = [bucket(int(step), buckets, farthest, direction) for step in ahead]
    assert Buckets(buckets, farthest, direction).bucket(ahead).tolist() == expected


def test_known_places() -> None:
    both = Buckets().bucket(torch.tensor([0, -1, 1, -7, -8, -15, -16, -127, -128, -1000, 128]))
    assert both.tolist() == [0, 1, 17, 7, 8, 9, 10, 15, 15, 15, 31]
    back = Buckets(direction="back").bucket(torch.tensor([0, 3, -15, -16, -128]))
    assert back.tolist() == [0, 0, 15, 16, 31]


def test_each_head_reads_its_row() -> None:
    layout = Buckets(8, 20)
    table = layout.build(Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4))
    query, key = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4)
    bias = table(query, key, torch.tensor([0, 6, 3]), torch.arange(5))
    for head in range(2):
        for i, query_at in enumerate((0, 6, 3)):
            for j in range(5):
                assert bias[head, i, j] == table.weight[head, bucket(j - query_at, 8, 20, "both")]


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match=r"buckets: farthest must be above half the buckets \(16\), but is 16"):
        Buckets(32, 16)
    with pytest.raises(ConfigError, match="buckets: buckets must be at least 4, but is 2"):
        POSITIONS.make("buckets(2)")
