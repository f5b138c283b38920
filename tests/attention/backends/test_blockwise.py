from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.backends.blockwise import Blockwise
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.normalizers.softmax import Softmax
from regard.attention.score import Score
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError


class Counted(Score):
    """Notes how many pairs it is asked for at a time."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, int]] = []

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        self.shapes.append((query.shape[2], key.shape[2]))
        return query @ key.mT


def call(length: int = 12, **parts: Any) -> Call:
    query, key, value = (torch.randn(1, 1, length, 2, requires_grad=True) for _ in range(3))
    return Call(query, key, value, **({"score": ScaledDot(), "normalizer": Softmax()} | parts))


def test_a_block_holds_no_more_than_was_allowed() -> None:
    score = Counted()
    with torch.no_grad():
        Blockwise(block_bytes=5 * 12 * 4)(call(score=score))
    assert score.shapes == [(2, 12), (5, 12), (5, 12)]


def test_keys_that_no_query_of_the_block_sees_are_left_out() -> None:
    score = Counted()
    with torch.no_grad():
        found = Blockwise(block_bytes=4 * 12 * 4)(call(score=score, keep=Window(2)))
    assert score.shapes == [(4, 5), (4, 6), (4, 5)]
    assert found.weights is None


def test_causal_blocks_get_smaller_so_that_each_fits_where_the_one_before_it_was() -> None:
    score = Counted()
    Blockwise(block_bytes=4 * 12 * 4)(call(score=score, mask=Causal()))
    assert score.shapes == [(4, 12), (4, 8), (4, 4)]


def test_a_row_that_takes_too_much_goes_alone() -> None:
    score = Counted()
    with torch.no_grad():
        Blockwise(block_bytes=1)(call(length=3, score=score))
    assert score.shapes == [(1, 3)] * 3


def test_in_training_weights_are_computed_again_instead_of_kept() -> None:
    score = Counted()
    output = Blockwise(block_bytes=6 * 12 * 4)(call(score=score)).output
    assert len(score.shapes) == 2
    output.sum().backward()
    assert len(score.shapes) == 4


def test_dropout_is_the_same_on_the_way_back() -> None:
    """The output is linear in the values: gradient times value is the output, if the same weights were dropped."""
    one = call(dropout=0.5)
    total = Blockwise(block_bytes=4 * 12 * 4)(one).output.sum()
    total.backward()
    torch.testing.assert_close((one.value.grad * one.value).sum(), total, atol=1e-5, rtol=1e-5)


def test_leaves_small_calls_to_the_definition() -> None:
    assert Blockwise().hesitation(call()) == "its 0.0 MiB of logits can be held at once"
    assert Blockwise(from_bytes=10).hesitation(call()) is None


def test_no_queries_and_no_keys() -> None:
    empty = torch.randn(1, 1, 0, 2)
    some = torch.randn(1, 1, 3, 2)
    for sides in ((empty, some, some), (some, empty, empty)):
        one = Call(*sides, score=ScaledDot(), normalizer=Softmax())
        assert torch.equal(Blockwise()(one).output, define(one).output)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="blockwise: block_bytes must be at least 1, but is 0"):
        Blockwise(0)
