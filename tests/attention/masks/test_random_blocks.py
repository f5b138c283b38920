import pytest
import torch

from regard.attention.mask import MASKS
from regard.attention.masks.random_blocks import RandomBlocks
from regard.base.errors import ConfigError, ShapeError


def test_each_block_of_queries_sees_count_whole_blocks() -> None:
    at = torch.arange(24)
    keep = RandomBlocks(size=4, count=2, length=24)(at, at).view(6, 4, 6, 4)
    drawn = keep[:, 0, :, 0]
    assert torch.equal(keep, drawn[:, None, :, None].expand_as(keep))
    assert (drawn.sum(-1) == 2).all()


def test_the_seed_alone_decides() -> None:
    at = torch.arange(40)
    masks = [RandomBlocks(2, 5, 40, seed=seed)(at, at) for seed in (0, 1, 0)]
    torch.manual_seed(77)
    assert torch.equal(masks[0], masks[2])
    assert torch.equal(masks[0], RandomBlocks(2, 5, 40)(at, at))
    assert not torch.equal(masks[0], masks[1])


def test_a_length_that_is_no_multiple_of_the_size() -> None:
    at = torch.arange(7)
    assert RandomBlocks(3, 9, 7)(at, at).all()
    assert not RandomBlocks(3, 0, 7)(at, at).any()


def test_positions_beyond_the_length_are_refused() -> None:
    with pytest.raises(ShapeError, match="random_blocks: a key stands at 8, beyond length=8"):
        RandomBlocks(2, 1, 8)(torch.arange(8), torch.arange(9))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="random_blocks: size must be at least 1, but is 0"):
        RandomBlocks(0, 1, 8)
    with pytest.raises(ConfigError, match=r"random_blocks needs its setting 'length', as in random_blocks\(length=…\)"):
        MASKS.make("random_blocks(2, 1)")
