import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.call import Call
from regard.attention.core import attend, backend_choice, define, weights_of
from regard.attention.mask import MASKS
from regard.attention.normalizer import NORMALIZERS
from regard.attention.part import Sizes
from regard.attention.positions.shaw import Shaw
from regard.attention.score import SCORES
from regard.base.errors import CombinationError, ShapeError

SOFT = {"score": SCORES.ScaledDot(), "normalizer": NORMALIZERS.Softmax()}
EVERY = ("plain", "fused", "blockwise(block_bytes=300)", None)


def sides(heads: int = 4, keys: int = 6, value_width: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    query = torch.randn(2, 4, 5, 8, dtype=torch.float64)
    return query, *(torch.randn(2, heads, keys, width, dtype=torch.float64) for width in (8, value_width))


@pytest.mark.parametrize("backend", EVERY)
def test_is_the_formula_of_the_lectures(backend: str | None) -> None:
    query, key, value = sides()
    attended = attend(query, key, value, **SOFT, backend=backend, weights=True)
    q, k, v = query.numpy(), key.numpy(), value.numpy()
    for batch, head, i in np.ndindex(2, 4, 5):
        powers = np.exp([q[batch, head, i] @ k[batch, head, j] / np.sqrt(8) for j in range(6)])
        alpha = powers / powers.sum()
        expected = sum(alpha[j] * v[batch, head, j] for j in range(6))
        np.testing.assert_allclose(attended.weights[batch, head, i].numpy(), alpha, rtol=1e-12)
        np.testing.assert_allclose(attended.output[batch, head, i].numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("backend", EVERY)
def test_equals_torch(backend: str | None) -> None:
    query, key, value = sides()
    keep = torch.rand(2, 1, 5, 6) < 0.7
    keep[..., 0] = True
    bias = torch.randn(4, 5, 6, dtype=torch.float64)
    grouped = key[:, :2], value[:, :2]
    expected = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(attend(query, key, value, **SOFT, backend=backend).output, expected)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=keep)
    torch.testing.assert_close(attend(query, key, value, **SOFT, keep=keep, backend=backend).output, expected)
    both = bias.masked_fill(~keep, -torch.inf)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=both)
    output = attend(query, key, value, **SOFT, keep=keep, bias=bias, backend=backend).output
    torch.testing.assert_close(output, expected)
    expected = F.scaled_dot_product_attention(query, *grouped, enable_gqa=True)
    torch.testing.assert_close(attend(query, *grouped, **SOFT, backend=backend).output, expected)
    expected = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    output = attend(query, key, value, **SOFT, keep=MASKS.Causal(), backend=backend).output
    torch.testing.assert_close(output, expected)


def test_any_parts_make_an_attention() -> None:
    query, key, value = sides()
    sizes = Sizes(width=32, heads=4, key_heads=4, query_width=8, key_width=8, value_width=5)
    score, bias = SCORES.Additive().build(sizes).double(), Shaw(2).build(sizes).double()
    keep = MASKS.Causal() & MASKS.Window(3)
    found = attend(
        query, key, value, score=score, normalizer=NORMALIZERS.Sparsemax(), keep=keep, bias=bias, weights=True
    )
    at = torch.arange(5), torch.arange(6)
    logits = score(query, key) + bias(query, key, *at)
    weights = NORMALIZERS.Sparsemax()(logits, keep(*at))
    torch.testing.assert_close(found.weights, weights)
    torch.testing.assert_close(found.output, weights @ value + bias.output(weights, *at))


def test_weights_are_given_when_asked_for_alone() -> None:
    tensors = sides()
    assert attend(*tensors, **SOFT).weights is None
    assert attend(*tensors, **SOFT, backend="plain").weights is None
    fused = attend(*tensors, **SOFT, backend="fused", weights=True)
    plain = attend(*tensors, **SOFT, backend="plain", weights=True)
    torch.testing.assert_close(fused.weights, plain.weights)


def test_weights_are_those_before_dropout() -> None:
    tensors = sides()
    attended = attend(*tensors, **SOFT, dropout=0.5, backend="plain", weights=True)
    torch.testing.assert_close(attended.weights, attend(*tensors, **SOFT, weights=True).weights)
    assert not torch.allclose(attended.output, attended.weights @ tensors[2])


def test_dropout_takes_weights_with_their_positions() -> None:
    """What is dropped is neither read from the values nor from the vectors that positions put beside them."""
    query, key, value = sides()
    bias = Shaw(2).build(Sizes(width=32, heads=4, key_heads=4, query_width=8, key_width=8, value_width=5)).double()
    call = Call(query, key, torch.ones_like(value), dropout=0.5, bias=bias, **SOFT)
    with torch.no_grad():
        bias.values.fill_(-1.0)
        assert define(call).output.abs().max() < 1e-12


def test_what_is_asked_wrongly_is_told(unchecked: None) -> None:
    query, key, value = sides()
    with pytest.raises(
        ShapeError, match=r"attend: query must be \[batch, heads, length, width\], but has the shape \[5, 8\]"
    ):
        attend(query[0, 0], key, value, **SOFT)
    with pytest.raises(ShapeError, match=r"attend: keep must be bool.*but is torch.float64; numbers to be added"):
        attend(query, key, value, **SOFT, keep=torch.zeros(5, 6, dtype=torch.float64))


def test_a_backend_that_cannot_serve_says_why() -> None:
    with pytest.raises(
        CombinationError,
        match=r"attend: linear cannot serve this call: Softmax weighs .*; union, sparse, fused",
    ):
        attend(*sides(), **SOFT, backend="linear")
    with pytest.raises(CombinationError, match="attend: linear cannot serve this call: Softmax weighs"):
        backend_choice(*sides(), **SOFT, backend="linear")


def test_the_choice_is_told_and_its_reasons() -> None:
    choice = backend_choice(*sides(), **SOFT, keep=MASKS.Causal())
    assert choice.chosen == "fused"
    assert choice.reasons["linear"].startswith("cannot: Softmax weighs the keys of a query together")
    assert choice.reasons["plain"] == "could, but the chosen one is faster"
    assert "→ fused: chosen" in str(choice)


def test_weights_of_some_rows_and_heads() -> None:
    tensors = sides()
    call = Call(*tensors, **SOFT)
    whole = attend(*tensors, **SOFT, weights=True).weights
    torch.testing.assert_close(weights_of(call), whole)
    torch.testing.assert_close(weights_of(call, heads=[2], rows=[4, 0]), whole[:, [2]][:, :, [4, 0]])


@pytest.mark.parametrize("backend", ["plain", "fused", "blockwise"])
def test_a_bias_of_minus_infinity_forbids_a_pair_and_a_row_of_them_reads_zeros(backend: str) -> None:
    query, key, value = (torch.randn(1, 1, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))
    bias = torch.zeros(3, 3, dtype=torch.float64)
    bias[1] = float("-inf")
    bias[2, 0] = float("-inf")
    parts = {"score": SCORES.make("scaled_dot"), "normalizer": NORMALIZERS.make("softmax"), "backend": backend}
    output = attend(query, key, value, bias=bias, **parts).output
    kept = attend(query, key, value, keep=bias == 0, **parts).output
    assert torch.equal(output[0, 0, 1], torch.zeros(4, dtype=torch.float64))
    assert torch.allclose(output, kept, atol=1e-12)
    output.sum().backward()
    assert all(torch.isfinite(side.grad).all() for side in (query, key, value))
