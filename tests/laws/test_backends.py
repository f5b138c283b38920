"""Law: every backend gives the numbers of the definition, forward and backward, wherever it says that it serves.

Two ways to the same numbers differ by rounding, and how much that may be follows from what is rounded: see `rounding`.
"""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.backend import BACKENDS, Backend
from regard.attention.call import Call, spread
from regard.attention.core import attend, define
from regard.attention.mask import MASKS, Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.score import SCORES, Score

from .examples import (
    BATCH,
    HEADS,
    KEY_HEADS,
    LENGTH,
    SIZES,
    biases,
    build,
    call_of,
    computes,
    examples,
    for_any_mask,
    serving,
    tensors,
    weights_in,
)

PARTS = (
    (SCORES.ScaledDot(), NORMALIZERS.Softmax()),
    (SCORES.Additive(), NORMALIZERS.Sparsemax()),
    (SCORES.Kernel(), NORMALIZERS.Ratio()),
)

dtypes = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)


def rounding(call: Call, compared: tuple[Tensor, ...]) -> float:
    """How far two computations of a call may be apart: n · (1 + L) · S · ε.

    ε is the number type's rounding. A logit is off by up to L · ε, L being the largest of them, and so is its
    exponential, as a share of itself. Sums of n terms, as many as there are keys and as the vectors are wide, add up n
    such errors. S is the largest number among output and gradients, and at least 1, the size of the terms that cancel
    where all of them are small. In fact the errors are below 1.6 · (1 + L) · S · ε.
    """
    with torch.no_grad():
        logits, bias = call.score(call.query, spread(call.key, call.groups)), call.bias_tensor()
        logits = logits if bias is None else logits + bias
        largest = logits[logits.isfinite()].abs().max().item()
    size = max(1.0, *(tensor.abs().max().item() for tensor in compared))
    terms = call.key.shape[2] + call.query.shape[3]
    return terms * (1 + largest) * size * torch.finfo(call.query.dtype).eps


def compare(
    backend: Backend,
    score: Any,
    normalizer: Any,
    dtype: torch.dtype,
    heads: int = HEADS,
    lengths: tuple[int, int] = (LENGTH, LENGTH),
    **others: Any,
) -> int:
    """The backend's output and gradients beside the definition's; 0 if it does not serve."""
    sides = tensors(dtype, heads, *lengths)
    call = call_of(*sides, score, normalizer, **others)
    if backend.refusal(call) is not None:
        return 0
    learned = [*sides, *weights_in(score, call.bias)]
    if isinstance(call.bias, Tensor):
        learned.append(call.bias)
    found = []
    for output in (define(call).output, backend(call).output):
        coefficients = torch.linspace(-1, 1, output.numel(), dtype=dtype).view_as(output)
        gradients = torch.autograd.grad((output * coefficients).sum(), learned, allow_unused=True)
        zeros = [torch.zeros_like(tensor) for tensor in learned]
        found.append((output, *(zero if own is None else own for own, zero in zip(gradients, zeros, strict=True))))
    torch.testing.assert_close(found[1], found[0], atol=rounding(call, found[0]), rtol=0)
    return 1


@dtypes
@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_for_every_score_and_normalizer(
    backend: Backend, normalizer: Normalizer, scores: list[Score], dtype: torch.dtype
) -> None:
    padding = MASKS.Padding(torch.tensor([5, 2]))
    for unbuilt in scores:
        score = build(unbuilt, dtype)
        assert compare(backend, score, normalizer, dtype, KEY_HEADS, keep=MASKS.Causal())
        if dtype == torch.float64:
            assert compare(backend, score, normalizer, dtype)
            assert compare(backend, score, normalizer, dtype, lengths=(3, 8), keep=padding)


@dtypes
@pytest.mark.parametrize("mask", examples(MASKS))
@pytest.mark.parametrize("backend", examples(BACKENDS))
def test_for_every_mask(backend: Backend, mask: Mask, dtype: torch.dtype) -> None:
    at = torch.arange(LENGTH)
    served = 0
    for unbuilt, normalizer in PARTS:
        score = build(unbuilt, dtype)
        for keep in (mask, ~mask & MASKS.Causal(), mask | MASKS.Strided(3), mask(at, at)):
            served += compare(backend, score, normalizer, dtype, KEY_HEADS, keep=keep)
        padding = torch.arange(LENGTH) < torch.tensor([5, 2])[:, None, None, None]
        served += compare(backend, score, normalizer, dtype, KEY_HEADS, mask=mask, keep=padding)
    needs_a_list = isinstance(backend, BACKENDS.get("listed"))
    if not needs_a_list and not computes(backend, dtype):
        pytest.skip(f"it does not compute in {dtype}")
    assert served or (mask.pairs() is None if needs_a_list else not (mask.keys_only or mask.causal))


@dtypes
@pytest.mark.parametrize("bias", biases())
@pytest.mark.parametrize("backend", examples(BACKENDS))
def test_for_every_bias(backend: Backend, bias: Any, dtype: torch.dtype) -> None:
    built = build(bias, dtype)
    at = torch.stack([torch.arange(LENGTH), torch.arange(LENGTH).flip(0) + 2])
    for unbuilt, normalizer in PARTS[:2]:
        score = build(unbuilt, dtype)
        compare(backend, score, normalizer, dtype, KEY_HEADS, bias=built)
        compare(backend, score, normalizer, dtype, bias=built, keep=MASKS.Causal())
        compare(backend, score, normalizer, dtype, bias=built, keep=MASKS.Window(2), query_at=at, key_at=at)
        compare(backend, score, normalizer, dtype, lengths=(3, 8), bias=built, keep=MASKS.Padding(torch.tensor([5, 2])))


@dtypes
@pytest.mark.parametrize(
    "shape", [(LENGTH,), (LENGTH, LENGTH), (HEADS, 1, 1), (HEADS, LENGTH, LENGTH), (BATCH, 1, LENGTH, 1)], ids=str
)
@pytest.mark.parametrize("backend", examples(BACKENDS))
def test_for_tensors_that_broadcast(backend: Backend, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    for unbuilt, normalizer in PARTS:
        score = build(unbuilt, dtype)
        keep = torch.rand(shape) < 0.6
        compare(backend, score, normalizer, dtype, keep=keep)
        if not normalizer.proportional:
            bias = torch.randn(shape, dtype=dtype, requires_grad=True)
            compare(backend, score, normalizer, dtype, bias=bias)
            compare(backend, score, normalizer, dtype, bias=bias, keep=keep)
            compare(backend, score, normalizer, dtype, KEY_HEADS, bias=bias, keep=MASKS.Causal())


@pytest.mark.parametrize("backend", for_any_mask(torch.float32))
def test_for_positions_out_of_order(backend: Backend) -> None:
    dtype = torch.float64 if computes(backend, torch.float64) else torch.float32
    query_at, key_at = torch.tensor([6, 2, 0, 9, 3, 3, 1]), torch.tensor([1, 0, 4, 9, 2, 6, 5])
    served = 0
    for unbuilt, normalizer in PARTS:
        for keep in (
            None,
            MASKS.Causal(),
            MASKS.Window(3) | MASKS.GlobalTokens(1),
            MASKS.Padding(torch.tensor([7, 3])),
        ):
            places = {"query_at": query_at, "key_at": key_at}
            served += compare(backend, build(unbuilt, dtype), normalizer, dtype, keep=keep, **places)
    assert served


@pytest.mark.parametrize("widths", [(4, 4), (4, 9), (9, 4), (1, 1)], ids=str)
@pytest.mark.parametrize("backend", for_any_mask(torch.float32))
def test_for_values_of_any_width(backend: Backend, widths: tuple[int, int]) -> None:
    width, value_width = widths
    dtype = torch.float64 if computes(backend, torch.float64) else torch.float32
    served = 0
    for score, normalizer in (PARTS[0], PARTS[2]):
        sides = [torch.randn(BATCH, HEADS, LENGTH, size, dtype=dtype) for size in (width, width, value_width)]
        call = call_of(*sides, score, normalizer, keep=MASKS.Causal())
        if backend.refusal(call) is None:
            output = backend(call).output
            assert output.shape[-1] == value_width
            expected = define(call).output
            torch.testing.assert_close(output, expected, atol=rounding(call, (expected,)), rtol=0)
            served += 1
    assert served


@pytest.mark.parametrize("backend", examples(BACKENDS))
def test_weights_come_with_the_output_when_asked_for(backend: Backend) -> None:
    for unbuilt, normalizer in PARTS:
        score, sides = build(unbuilt), tensors()
        call = call_of(*sides, score, normalizer, keep=MASKS.Causal())
        if backend.refusal(call) is None:
            settings = {"score": score, "normalizer": normalizer, "keep": MASKS.Causal(), "backend": backend}
            attended = attend(*sides, weights=True, **settings)
            torch.testing.assert_close(attended.weights @ sides[2], attended.output)
            assert attend(*sides, **settings).weights is None


@pytest.mark.parametrize("backend", examples(BACKENDS))
def test_dropout_leaves_the_mean_as_it_is(backend: Backend) -> None:
    sides = [side.detach()[:1, :1] for side in tensors(queries=2)]
    many = [side.expand(4000, -1, -1, -1) for side in sides]
    for unbuilt, normalizer in PARTS:
        score = build(unbuilt, sizes=replace(SIZES, heads=1, key_heads=1))
        call = call_of(*many, score, normalizer, dropout=0.3)
        if backend.refusal(call) is not None:
            continue
        with torch.no_grad():
            output, exact = backend(call).output, define(call_of(*sides, score, normalizer)).output
        assert output.std(0).max() > 0.05
        torch.testing.assert_close(output.mean(0), exact[0], atol=0.08, rtol=0)


def test_every_backend_serves_something_that_plain_serves_too() -> None:
    served = {type(example.values[0]) for example in serving()}
    assert served == {type(example.values[0]) for example in for_any_mask()}
