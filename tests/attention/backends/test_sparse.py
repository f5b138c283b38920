from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.backend import choose
from regard.attention.backends.sparse import Sparse
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.masks.global_tokens import GlobalTokens
from regard.attention.masks.padding import Padding
from regard.attention.masks.random_blocks import RandomBlocks
from regard.attention.masks.strided import Strided
from regard.attention.masks.tiles import Tiles
from regard.attention.masks.window import Window
from regard.attention.multihead import Attention
from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.sparsemax import Sparsemax
from regard.attention.part import Sizes
from regard.attention.positions.shaw import Shaw
from regard.attention.score import Score
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError, ShapeError

SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4)
MASKS = {
    "window": Causal() & Window(128),
    "big bird": Window(64) | GlobalTokens(4) | RandomBlocks(64, 2, 1024),
    "strided": Causal() & Strided(32),
    "tiles": Tiles(8, 4, columns=32),
}


class Counted(Score):
    """Notes how many pairs it is asked for."""

    def __init__(self) -> None:
        self.pairs = 0

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        self.pairs += query.shape[0] * query.shape[2] * key.shape[2]
        return query @ key.mT


def call(length: int = 1024, keys: int | None = None, batch: int = 1, **parts: Any) -> Call:
    query, key, value = (torch.randn(batch, 2, size, 4) for size in (length, keys or length, keys or length))
    return Call(query, key, value, **({"score": ScaledDot(), "normalizer": Softmax()} | parts))


@pytest.mark.parametrize("name", MASKS)
def test_what_is_sparse_is_chosen_and_right(name: str) -> None:
    one = call(mask=MASKS[name], batch=2, keep=torch.arange(1024) < torch.tensor([1000, 400])[:, None, None, None])
    backend = choose(one)
    assert isinstance(backend, Sparse)
    torch.testing.assert_close(backend(one).output, define(one).output, atol=1e-5, rtol=1e-5)


def test_pairs_grow_linearly_with_the_length() -> None:
    counted = []
    for length in (1024, 2048, 4096):
        score = Counted()
        Sparse()(call(length, score=score, normalizer=Sparsemax(), mask=Causal() & Window(128)))
        counted.append(score.pairs)
    assert counted == [3 * 64 * length for length in (1024, 2048, 4096)]


def test_a_step_reads_its_window_whatever_was_written() -> None:
    layer = Attention(heads=2, mask=Causal() & Window(100), score="dot", normalizer="sparsemax").build(8).eval()
    score = Counted()
    layer.reading.score = score
    memory = layer.remember(torch.randn(1, 3000, 8))
    with torch.no_grad():
        layer.advance(torch.randn(1, 1, 8), memory)
    assert score.pairs <= 3 * 64


def test_hesitates_where_little_is_left_out() -> None:
    assert Sparse().hesitation(call()) == "no mask says what could be left out"
    assert Sparse().hesitation(call(keep=torch.ones(1024, dtype=torch.bool))) == "no mask says what could be left out"
    assert Sparse().hesitation(call(300, mask=Window(2))) == "there are only 300 keys"
    assert Sparse().hesitation(call(mask=Causal())) == "62% of the tiles would be computed"
    assert Sparse().hesitation(call(mask=Window(128))) is None
    assert Sparse().hesitation(call(1, 4096, mask=Causal() & Window(9), query_at=torch.tensor([4095]))) is None


def test_serves_what_no_kernel_serves() -> None:
    one = call(520, mask=Window(20), bias=Shaw(3).build(SIZES), normalizer=Sparsemax())
    assert isinstance(choose(one), Sparse)
    torch.testing.assert_close(Sparse()(one).output, define(one).output, atol=1e-5, rtol=1e-5)


def test_no_queries_and_no_keys() -> None:
    for sides in ((0, 5), (5, 0)):
        one = call(sides[0], mask=Window(2))
        key = torch.randn(1, 2, sides[1], 4)
        one = Call(one.query, key, key, score=ScaledDot(), normalizer=Softmax(), mask=Window(2))
        assert torch.equal(Sparse()(one).output, define(one).output)


def test_a_mask_for_another_batch_is_told() -> None:
    wrong = call(batch=2, mask=Window(5) & Padding(torch.tensor([1, 2, 3])))
    with pytest.raises(ShapeError, match=r"attend: keep has the shape \[3, 1, 1, 1\], which does not broadcast"):
        Sparse()(wrong)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="sparse: block must be at least 1, but is 0"):
        Sparse(0)
