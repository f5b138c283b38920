"""That tiles give the numbers of the definition is a law of the backends; here is what is served."""

import torch
from torch import Tensor

from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.masks.prefix import Prefix
from regard.attention.masks.strided import Strided
from regard.attention.masks.window import Window
from regard.attention.normalizers.softmax import Softmax
from regard.attention.scores.scaled_dot import ScaledDot
from regard.attention.tiled import read_tiles
from regard.attention.tiling import tiling

Shape = tuple[int, int, int]


def read(call: Call, size: int) -> tuple[Tensor, list[Shape]]:
    """The output, and batch, queries and keys of each small call."""
    seen: list[Shape] = []

    def serve(few: Call) -> Tensor:
        assert not few.masks
        seen.append((few.query.shape[0], few.query.shape[2], few.key.shape[2]))
        return define(few).output

    return read_tiles(call, tiling(call, min(size, call.query.shape[2]), size), serve), seen


def call(queries: int, keys: int, **parts: object) -> Call:
    sides = torch.randn(2, 4, queries, 8), torch.randn(2, 2, keys, 8), torch.randn(2, 2, keys, 6)
    return Call(*(side.double() for side in sides), score=ScaledDot(), normalizer=Softmax(), **parts)


def test_a_window_is_served_by_one_small_call() -> None:
    one = call(64, 64, mask=Causal() & Window(8))
    output, seen = read(one, 8)
    assert seen == [(2 * 8, 8, 16)]
    torch.testing.assert_close(output, define(one).output)


def test_lengths_need_not_be_whole_blocks() -> None:
    one = call(61, 45, mask=Window(9), keep=torch.rand(2, 1, 1, 45) < 0.5, bias=torch.randn(4, 61, 45).double())
    output, _ = read(one, 8)
    torch.testing.assert_close(output, define(one).output)


def test_queries_in_another_order_come_back_in_theirs() -> None:
    one = call(60, 60, mask=Strided(6))
    output, seen = read(one, 10)
    assert seen == [(2 * 6, 10, 10)]
    torch.testing.assert_close(output, define(one).output)


def test_one_query_reads_just_its_window() -> None:
    at, places = torch.tensor([99]), torch.arange(100)
    one = call(1, 100, mask=Causal() & Window(10), query_at=at, key_at=places)
    output, seen = read(one, 8)
    assert seen == [(2, 1, 12)]
    torch.testing.assert_close(output, define(one).output)
    apart = call(1, 100, mask=Window(3) | Causal() & ~Window(90), query_at=at, key_at=places)
    output, seen = read(apart, 8)
    assert seen == [(2, 1, 2 * 8 + 4)]
    torch.testing.assert_close(output, define(apart).output)


def test_who_sees_nothing_reads_zeros_and_learns_nothing() -> None:
    one = call(16, 16, mask=~Prefix(16))
    one.value.requires_grad_()
    output, seen = read(one, 4)
    assert seen == [(2, 16, 0)]
    assert not output.any()
    output.sum().backward()
    assert not one.value.grad.any()
    far = call(16, 16, mask=Causal() & ~Window(9))
    output, _ = read(far, 4)
    assert not output[:, :, :9].any()
    torch.testing.assert_close(output, define(far).output)
