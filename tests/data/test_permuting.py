import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.permuting import PermutedWindows, Permuting
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import PAD
from regard.data.windows import Streams, StreamSettings

TEXT = np.arange(4, 104)


def windows(**settings: int) -> PermutedWindows:
    return PermutedWindows(Streams(TEXT, StreamSettings(rows=3, length=12, context=5)), Permuting(**settings))


def test_the_last_of_the_order_are_asked_for() -> None:
    item = windows(spread=4).at(BatchPosition(index=1))
    assert item.tokens.shape == (3, 12)
    assert item.asked.shape == (3, 3)
    for row in range(3):
        order = item.rank[row].argsort()
        assert sorted(order.tolist()) == list(range(12))
        assert set(item.asked[row].tolist()) == set(order[-3:].tolist())
    assert torch.equal(item.wanted, item.tokens.gather(1, item.asked))
    assert item.count == item.size == 9


def test_the_text_before_is_recalled() -> None:
    both = windows()
    assert both.at(BatchPosition()).before.shape == (3, 0)
    item = both.at(BatchPosition(index=1))
    assert torch.equal(item.before, item.tokens[:, :1] - torch.arange(5, 0, -1))


def test_padding_comes_last_and_is_not_asked_for() -> None:
    item = windows(spread=2).at(BatchPosition(index=2))
    filled = item.tokens != PAD
    assert (~filled).any()
    for row in range(3):
        length = int(item.lengths[row])
        assert sorted(item.rank[row, :length].tolist()) == list(range(length))
        assert (item.wanted[row] != PAD).sum() == -(-length // 2)


def test_orders_follow_from_seed_epoch_and_batch() -> None:
    first, again = (windows().at(BatchPosition(epoch=1, index=1)) for _ in range(2))
    assert torch.equal(first.rank, again.rank)
    for other in (windows(seed=2).at(BatchPosition(epoch=1, index=1)), windows().at(BatchPosition(index=1))):
        assert not torch.equal(first.rank, other.rank)
    walked = windows().walk(BatchPosition(epoch=1, index=1))
    assert torch.equal(next(walked)[1].rank, first.rank)
    assert windows().epoch() == (3, 100 // 6)


def test_shares_hold_every_text_once() -> None:
    item = windows().at(BatchPosition(index=1))
    shares = item.shares(2)
    assert sum(share.count for share in shares) == item.count
    assert sorted(share.tokens[row, 0].item() for share in shares for row in range(len(share.lengths))) == sorted(
        item.tokens[:, 0].tolist()
    )
    with pytest.raises(ConfigError, match="permuting: spread must be at least 1, but is 0"):
        Permuting(spread=0)
