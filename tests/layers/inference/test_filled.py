"""Outputs in whole chunks: what is added is never chosen, and nothing else changes."""

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from regard.layers.inference.filled import filled, missing
from regard.layers.inference.int8 import Int8Linear
from regard.layers.inference.prepacked import Prepacked


def test_what_a_row_lacks() -> None:
    assert [missing(size) for size in (1, 63, 64, 65, 10_000)] == [63, 1, 0, 63, 48]


@pytest.mark.parametrize("bias", [True, False])
def test_more_outputs_of_the_same_map(bias: bool) -> None:
    layer, x = nn.Linear(16, 100, bias), torch.randn(3, 16)
    made = linear(x, *filled(layer))
    torch.testing.assert_close(made[:, :100], layer(x))
    assert (made[:, 100:] == -torch.inf).all()
    assert linear(x, *filled(nn.Linear(16, 64, bias))).shape == (3, 64)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("made_of", [Prepacked, Int8Linear])
def test_outputs_are_filled_up_to_whole_chunks(
    made_of: type[Prepacked | Int8Linear], bias: bool, request: pytest.FixtureRequest
) -> None:
    if made_of is Int8Linear:
        request.getfixturevalue("int8")
    linear, x = nn.Linear(16, 100, bias), torch.randn(2, 3, 16)
    ours = made_of(linear)
    with torch.inference_mode():
        filled = ours.in_chunks(x)
        assert filled.shape == (2, 3, 128)
        assert torch.equal(filled[..., :100], ours(x))
        assert (filled[..., 100:] == -torch.inf).all()
        assert made_of(nn.Linear(16, 128, bias)).in_chunks(x).isfinite().all()
