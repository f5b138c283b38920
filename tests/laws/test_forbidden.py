"""Laws: what a query may not see has no part in what it reads, and a query that may see nothing reads zeros.

Both hold exactly, forward and backward, whichever backend computes.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.backend import BACKENDS, Backend
from regard.attention.mask import MASKS, Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.score import SCORES, Score

from .examples import (
    BATCH,
    HEADS,
    LENGTH,
    biases,
    build,
    call_of,
    combines,
    examples,
    parts,
    serving,
    tensors,
    weights_in,
)


def some_pairs() -> Tensor:
    """Any pairs, but each query sees something."""
    keep = torch.rand(BATCH, HEADS, LENGTH, LENGTH, generator=torch.Generator().manual_seed(2)) < 0.5
    return keep | torch.eye(LENGTH, dtype=torch.bool)


def masks() -> Iterator[Tensor | Mask]:
    """One for each way in which backends are told of a mask."""
    yield some_pairs()
    yield torch.tensor([True, False, True, True, True, False, True])
    yield torch.arange(LENGTH) < torch.tensor([5, 2])[:, None, None, None]
    yield MASKS.Causal()
    yield MASKS.Padding(torch.tensor([5, 2]))
    yield MASKS.Causal() & MASKS.Padding(torch.tensor([5, 2]))
    yield MASKS.Window(2)


def calls(backend: Backend, normalizer: Normalizer, scores: list[Score], keeps: Any) -> Iterator[Any]:
    """What the backend serves: a function from query, key and value to the output, the mask, the learned weights.

    The first score is tried with all masks, the others with one each.
    """
    keeps = list(keeps)
    for number, unbuilt in enumerate(scores):
        score = build(unbuilt)
        for keep in keeps if number == 0 else (keeps[number % len(keeps)],):

            def read(query: Tensor, key: Tensor, value: Tensor, score: Any = score, keep: Any = keep) -> Tensor:
                return backend(call_of(query, key, value, score, normalizer, keep=keep)).output

            call = call_of(*tensors(), score, normalizer, keep=keep)
            if backend.refusal(call) is None:
                yield read, call.keep_tensor.expand(BATCH, HEADS, LENGTH, LENGTH), weights_in(score)


@torch.no_grad()
@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_a_forbidden_key_and_its_value_change_nothing(
    backend: Backend, normalizer: Normalizer, scores: list[Score]
) -> None:
    query, key, value = (tensor.detach() for tensor in tensors())
    for read, keep, _ in calls(backend, normalizer, scores, masks()):
        output = read(query, key, value)
        for column in (1, 5):
            other_key, other_value = key.clone(), value.clone()
            other_key[:, :, column] = torch.randn_like(key[:, :, column]) * 3
            other_value[:, :, column] = 1e3
            unseeing = ~keep[..., column]
            assert torch.equal(read(query, other_key, other_value)[unseeing], output[unseeing])
            if not unseeing.all():
                assert not torch.equal(read(query, key, other_value)[~unseeing], output[~unseeing])


@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_a_forbidden_key_and_its_value_get_no_gradient(
    backend: Backend, normalizer: Normalizer, scores: list[Score]
) -> None:
    query, key, value = tensors()
    for read, keep, _ in calls(backend, normalizer, scores, masks()):
        column = 3
        unseeing = ~keep[..., column]
        if not unseeing.any():
            continue
        read(query, key, value)[unseeing].square().sum().backward()
        for side in (key, value):
            assert side.grad is None or (side.grad.isfinite().all() and not side.grad[:, :, column].any())
        assert value.grad.any()
        query.grad = key.grad = value.grad = None


def blind() -> Iterator[Tensor | Mask]:
    """Masks under which some queries, or all, see nothing."""
    rows = some_pairs()
    rows[0, :, 2], rows[1, 1], rows[:, :, 5] = False, False, False
    yield rows
    yield torch.zeros(LENGTH, dtype=torch.bool)
    yield torch.arange(LENGTH) < torch.tensor([0, 4])[:, None, None, None]
    yield MASKS.Padding(torch.tensor([0, 4]))
    yield MASKS.Causal() & MASKS.Padding(torch.tensor([3, 0]))
    yield MASKS.Matrix(rows)
    yield MASKS.Strided(1) & ~MASKS.Prefix(LENGTH)
    yield MASKS.Causal() & ~MASKS.Window(3)


@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_a_query_that_sees_nothing_reads_zeros(backend: Backend, normalizer: Normalizer, scores: list[Score]) -> None:
    served = 0
    for read, keep, learned in calls(backend, normalizer, scores, blind()):
        query, key, value = tensors()
        output = read(query, key, value)
        seeing = keep.any(-1)
        assert torch.equal(output[~seeing], torch.zeros_like(output[~seeing]))
        assert output.isfinite().all()
        output.square().sum().backward(retain_graph=True)
        assert all(tensor.grad is None or tensor.grad.isfinite().all() for tensor in (query, key, value, *learned))
        if query.grad is not None:
            assert torch.equal(query.grad[~seeing], torch.zeros_like(query.grad[~seeing]))
        for tensor in (query, key, value, *learned):
            tensor.grad = None
        output[~seeing].sum().backward()
        for tensor in (query, key, value, *learned):
            assert tensor.grad is None or not tensor.grad.any()
            tensor.grad = None
        served += 1
    assert served


@pytest.mark.parametrize("backend", examples(BACKENDS))
@pytest.mark.parametrize("bias", biases())
def test_a_query_that_sees_nothing_reads_zeros_with_positions(bias: Any, backend: Backend) -> None:
    built = build(bias)
    for keep in blind():
        query, key, value = tensors()
        call = call_of(query, key, value, SCORES.ScaledDot(), NORMALIZERS.Softmax(), keep=keep, bias=built)
        if backend.refusal(call) is not None:
            continue
        output = backend(call).output
        seeing = call.keep_tensor.expand(BATCH, HEADS, LENGTH, LENGTH).any(-1)
        assert torch.equal(output[~seeing], torch.zeros_like(output[~seeing]))
        output.square().sum().backward()
        for tensor in (query, key, value, *weights_in(built)):
            assert tensor.grad is None or tensor.grad.isfinite().all()
            tensor.grad = None


@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_queries_before_all_keys_read_zeros_when_causal(
    backend: Backend, normalizer: Normalizer, scores: list[Score]
) -> None:
    query_at, key_at = torch.arange(LENGTH), torch.arange(LENGTH) + 4
    for score in scores:
        query, key, value = tensors()
        call = call_of(
            query, key, value, build(score), normalizer, keep=MASKS.Causal(), query_at=query_at, key_at=key_at
        )
        if backend.refusal(call) is not None:
            continue
        output = backend(call).output
        assert torch.equal(output[:, :, :4], torch.zeros_like(output[:, :, :4]))
        assert output[:, :, 4:].all()
        output.sum().backward()
        assert all(side.grad is None or side.grad.isfinite().all() for side in (query, key, value))


@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_without_any_key_zeros_are_read(backend: Backend, normalizer: Normalizer, scores: list[Score]) -> None:
    for score in scores:
        for keep in (None, MASKS.Window(2), torch.zeros(BATCH, 1, 1, 0, dtype=torch.bool)):
            call = call_of(*tensors(keys=0), build(score), normalizer, keep=keep)
            if backend.refusal(call) is None:
                output = backend(call).output
                assert output.shape == (BATCH, HEADS, LENGTH, 3)
                assert not output.any()


@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_without_any_query_nothing_is_read(backend: Backend, normalizer: Normalizer, scores: list[Score]) -> None:
    for score in scores:
        for keep in (None, MASKS.Window(2), MASKS.Padding(torch.tensor([2, 3]))):
            call = call_of(*tensors(queries=0), build(score), normalizer, keep=keep)
            if backend.refusal(call) is None:
                assert backend(call).output.shape == (BATCH, HEADS, 0, 3)


def test_combinations_that_do_not_go_together_are_few() -> None:
    together = [combines(score, normalizer) for score in parts(SCORES) for normalizer in parts(NORMALIZERS)]
    assert sum(together) > 0.8 * len(together)
