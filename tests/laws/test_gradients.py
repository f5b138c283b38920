"""Law: gradients are those of the formula, checked against differences."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.backend import Backend
from regard.attention.memory import MEMORIES, Memory
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.position import POSITIONS, Position
from regard.attention.reading import Reading
from regard.attention.score import SCORES, Score

from .examples import HEADS, SIZES, WIDTH, biases, build, call_of, combines, examples, for_any_mask, weights_in


def randn(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def check(function: Any, *inputs: Tensor) -> None:
    assert torch.autograd.gradcheck(lambda *_: function(*inputs), inputs, fast_mode=False)


@pytest.mark.parametrize("score", examples(SCORES))
def test_of_scores(score: Score) -> None:
    built = build(score)
    query, key = randn(1, HEADS, 2, WIDTH), randn(1, HEADS, 3, WIDTH)
    check(lambda query, key, *_: built(query, key), query, key, *weights_in(built))


@pytest.mark.parametrize("score", examples(SCORES))
def test_of_the_factors_of_scores(score: Score) -> None:
    built = build(score)
    query, key = randn(1, HEADS, 2, WIDTH), randn(1, HEADS, 3, WIDTH)
    if built.factored:
        left, right, scale = built.factors(query, key)
        torch.testing.assert_close(left @ right.mT * scale, built(query, key))
        check(lambda query, key, *_: built.factors(query, key)[:2], query, key, *weights_in(built))
    else:
        with pytest.raises(Exception, match=r"use .*build\(sizes\)"):
            built.factors(query, key)


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_of_normalizers(normalizer: Normalizer) -> None:
    # Far enough apart that no difference crosses from one formula to another.
    logits = torch.tensor([[0.31, 1.03, 0.62, 0.05, 0.44], [2.0, 0.5, 3.1, 2.6, 0.9]], dtype=torch.float64)
    logits.requires_grad_()
    keep = torch.tensor([[True, True, False, True, True], [True, True, True, True, True]])
    for mask in (None, keep):
        if normalizer(logits, mask).requires_grad:
            check(lambda logits, mask=mask: normalizer(logits, mask), logits)
        else:
            assert torch.equal(normalizer(logits + 1e-3 * torch.randn_like(logits), mask), normalizer(logits, mask))


@pytest.mark.parametrize("bias", biases())
def test_of_biases(bias: Any) -> None:
    built = build(bias)
    query, key, weights = randn(1, HEADS, 3, WIDTH), randn(1, HEADS, 4, WIDTH), randn(1, HEADS, 3, 4)
    query_at, key_at = torch.tensor([3, 0, 5]), torch.tensor([0, 1, 4, 7])
    learned = [*weights_in(built)]
    if built(query, key, query_at, key_at).requires_grad:
        check(lambda query, key, *_: built(query, key, query_at, key_at), query, key, *learned)
    else:
        assert not learned
    if built.reads_values:
        check(lambda weights, *_: built.output(weights, query_at, key_at), weights, *learned)


@pytest.mark.parametrize("position", [example for example in examples(POSITIONS) if example not in biases()])
def test_of_placing(position: Position) -> None:
    built, at = build(position), torch.tensor([4, 0, 2])
    wide, headed = randn(1, 3, SIZES.width), randn(1, HEADS, 3, WIDTH)
    for role in ("input", "projection", "query", "key", "value"):
        before = wide if role in ("input", "projection") else headed
        check(lambda before, *_, role=role: built.place(before, at, role), before, *weights_in(built))


@pytest.mark.parametrize("backend", for_any_mask())
def test_of_backends(backend: Backend) -> None:
    served = 0
    for score, normalizer in ((SCORES.ScaledDot(), NORMALIZERS.Softmax()), (SCORES.Kernel(), NORMALIZERS.Ratio())):
        inputs = randn(1, 2, 3, 2), randn(1, 1, 3, 2), randn(1, 1, 3, 3)
        call = call_of(*inputs, score, normalizer)
        if combines(score, normalizer) and backend.refusal(call) is None:
            check(lambda *sides, s=score, n=normalizer: backend(call_of(*sides, s, n)).output, *inputs)
            served += 1
    assert served


@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_of_memories(memory: Memory) -> None:
    built = build(memory)
    kernel = Reading(SCORES.Kernel(), NORMALIZERS.Ratio())
    query, key, value = randn(1, HEADS, 1, WIDTH), randn(1, HEADS, 3, WIDTH), randn(1, HEADS, 3, 2)

    def read(query: Tensor, key: Tensor, value: Tensor, *_: Tensor) -> Tensor:
        written = built.start(kernel)
        for step in range(3):
            written = written.extend(key[:, :, step : step + 1], value[:, :, step : step + 1])
        return written.read(kernel, query, torch.tensor([2]))

    check(read, query, key, value, *weights_in(built))
