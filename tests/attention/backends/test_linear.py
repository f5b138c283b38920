from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from regard.attention.backends.linear import Linear
from regard.attention.call import Call
from regard.attention.mask import Mask
from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.attention.masks.window import Window
from regard.attention.normalizers.ratio import Ratio
from regard.attention.normalizers.softmax import Softmax
from regard.attention.scores.kernel import Kernel
from regard.base.errors import ConfigError

PADDING = Padding(torch.tensor([5, 2]))


def call(queries: int = 6, keep: Any = None, normalizer: Any = None, **settings: Any) -> Call:
    query, key, value = (torch.randn(2, 3, length, 4, dtype=torch.float64) for length in (queries, 6, 6))
    places = {"query_at": None, "key_at": None, "dropout": 0.0} | settings
    return Call(query, key, value, score=Kernel(), normalizer=normalizer or Ratio(), keep=keep, bias=None, **places)


@pytest.mark.parametrize("chunk", [1, 2, 5, 128])
def test_is_the_formula_of_the_paper(chunk: int) -> None:
    def lift(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x + 1, np.exp(x))

    one = call(keep=Causal())
    output = Linear(chunk)(one).output.numpy()
    query, key, value = (side.numpy() for side in (one.query, one.key, one.value))
    for batch, head, i in np.ndindex(2, 3, 6):
        state = sum(np.outer(lift(key[batch, head, j]), value[batch, head, j]) for j in range(i + 1))
        total = sum(lift(key[batch, head, j]) for j in range(i + 1))
        q = lift(query[batch, head, i])
        np.testing.assert_allclose(output[batch, head, i], q @ state / (q @ total), rtol=1e-10)


@pytest.mark.parametrize(
    "keep",
    [None, PADDING, ~PADDING, Causal(), Causal() & PADDING, PADDING | ~PADDING, torch.rand(2, 1, 1, 6) < 0.5],
    ids=lambda keep: type(keep).__name__,
)
def test_serves_what_hides_whole_keys_and_what_is_causal(keep: Mask | None) -> None:
    assert Linear().refusal(call(keep=keep)) is None


def test_refuses_the_rest_with_a_reason() -> None:
    at = torch.arange(6)
    summed_up = "a causal mask is summed up only for queries and keys in the same places"
    for one, reason in (
        (call(normalizer=Softmax()), "Softmax weighs the keys of a query together, so they cannot be summed up"),
        (call(keep=Window(2)), "Window depends on query and key together"),
        (call(keep=Causal() & Window(2)), "Window depends on query and key together"),
        (call(keep=Causal() | PADDING), "Or depends on query and key together"),
        (call(keep=torch.rand(6, 6) < 0.5), "the mask is a matrix of pairs"),
        (call(dropout=0.1), "there are no weights that dropout could drop"),
        (call(keep=Causal(), queries=4), summed_up),
        (call(keep=Causal(), query_at=at, key_at=at + 1), summed_up),
    ):
        assert Linear().refusal(one) == reason


def test_a_mask_that_was_expanded_still_hides_whole_keys() -> None:
    keep = (torch.rand(2, 1, 1, 6) < 0.5).expand(2, 3, 6, 6)
    assert Linear().refusal(call(keep=keep)) is None
    assert Linear().refusal(call(keep=keep.contiguous())) == "the mask is a matrix of pairs"


def test_chunks_are_at_least_one() -> None:
    with pytest.raises(ConfigError, match="linear: chunk must be at least 1, but is 0"):
        Linear(chunk=0)


def test_the_gradient_of_the_gradient_is_right_too() -> None:
    one = call(queries=4, keep=PADDING)
    sides = [side[:1, :1].clone().requires_grad_() for side in (one.query, one.key, one.value)]

    def read(*given: torch.Tensor) -> torch.Tensor:
        query, key, value = (side.expand(2, 3, -1, -1) for side in given)
        return Linear()(replace(one, query=query, key=key, value=value)).output

    assert torch.autograd.gradcheck(read, sides)
    assert torch.autograd.gradgradcheck(read, sides)
