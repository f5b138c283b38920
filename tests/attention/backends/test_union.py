from typing import Any

import pytest
import torch

from regard.attention.backend import choose
from regard.attention.backends.sparse import Sparse
from regard.attention.backends.union import Union
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.masks.global_tokens import GlobalTokens
from regard.attention.masks.padding import Padding
from regard.attention.masks.strided import Strided
from regard.attention.masks.window import Window
from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.sparsemax import Sparsemax
from regard.attention.part import Sizes
from regard.attention.positions.shaw import Shaw
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError

SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4)
SPARSE_TRANSFORMER = Causal() & (Window(32) | Strided(32))


def call(length: int = 1024, batch: int = 1, **parts: Any) -> Call:
    query, key, value = (torch.randn(batch, 2, length, 4, requires_grad=True) for _ in range(3))
    return Call(query, key, value, **({"score": ScaledDot(), "normalizer": Softmax()} | parts))


def test_a_window_and_a_stride_are_computed_one_after_the_other() -> None:
    keep = torch.arange(1024) < torch.tensor([1000, 0])[:, None, None, None]
    one = call(batch=2, mask=SPARSE_TRANSFORMER, keep=keep)
    backend = choose(one)
    assert isinstance(backend, Union)
    wanted, found = define(one).output, backend(one).output
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    gradients = [
        torch.autograd.grad(output.square().sum(), (one.query, one.key, one.value)) for output in (wanted, found)
    ]
    torch.testing.assert_close(gradients[1], gradients[0], atol=1e-4, rtol=1e-4)


def test_what_several_parts_see_counts_once() -> None:
    one = call(64, mask=Window(3) | Window(5) | GlobalTokens(2), bias=Shaw(3).build(SIZES))
    torch.testing.assert_close(Union(block=8)(one).output, define(one).output, atol=1e-5, rtol=1e-5)


def test_large_logits_are_put_together_without_overflow() -> None:
    one = call(64, mask=SPARSE_TRANSFORMER, score=ScaledDot(scale=300.0))
    torch.testing.assert_close(Union(block=8)(one).output, define(one).output, atol=1e-4, rtol=1e-4)


def test_refuses_what_has_no_sum_to_put_parts_together_by() -> None:
    assert Union().refusal(call()) is None
    assert Union().refusal(call(normalizer=Sparsemax())) == (
        "Sparsemax is no softmax, so parts of it cannot be put together"
    )


def test_hesitates_where_one_order_serves_all_parts() -> None:
    assert Union().hesitation(call(mask=Causal() & Window(9))) == "the mask is no union of masks"
    assert Union().hesitation(call(100, mask=SPARSE_TRANSFORMER)) == "there are only 100 keys"
    local = call(2048, mask=Window(64) | GlobalTokens(2))
    assert Union().hesitation(local) == "15% of the tiles would be computed, and 15% all at once"
    assert isinstance(choose(local), Sparse)
    assert Union().hesitation(call(mask=Padding(torch.tensor([1000])) & SPARSE_TRANSFORMER)) is None


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="union: block must be at least 1, but is 0"):
        Union(0)
