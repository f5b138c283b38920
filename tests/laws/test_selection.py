"""Law: the weights of some heads and rows are those heads and rows of the weights."""

from typing import Any

import pytest
import torch

from regard.attention.core import weights_of
from regard.attention.mask import MASKS, Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.score import SCORES, Score

from .examples import BATCH, HEADS, KEY_HEADS, LENGTH, biases, build, call_of, combines, examples, parts, tensors

ROWS = ([2, 0, 6], slice(1, 5), torch.tensor([3]), [-1], slice(None))
CHOSEN = ([3, 0], [1], torch.tensor([2, 2, 1]))


def check(score: Any, normalizer: Any, heads: int = HEADS, **others: Any) -> None:
    call = call_of(*tensors(heads=heads), score, normalizer, **others)
    with torch.no_grad():
        whole = weights_of(call)
        assert whole.shape == (BATCH, HEADS, LENGTH, LENGTH)
        for rows in ROWS:
            torch.testing.assert_close(weights_of(call, rows=rows), whole[:, :, rows], atol=1e-12, rtol=1e-12)
        for chosen in CHOSEN:
            torch.testing.assert_close(weights_of(call, heads=chosen), whole[:, chosen], atol=1e-12, rtol=1e-12)
            for rows in ROWS[:2]:
                both = weights_of(call, heads=chosen, rows=rows)
                torch.testing.assert_close(both, whole[:, chosen][:, :, rows], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("heads", [HEADS, KEY_HEADS, 1])
@pytest.mark.parametrize("score", examples(SCORES))
def test_for_every_score(score: Score, heads: int) -> None:
    check(build(score), NORMALIZERS.Softmax(), heads, keep=MASKS.Causal())


@pytest.mark.parametrize("heads", [HEADS, KEY_HEADS])
@pytest.mark.parametrize("bias", biases())
def test_for_every_bias(bias: Any, heads: int) -> None:
    check(SCORES.ScaledDot(), NORMALIZERS.Softmax(), heads, bias=build(bias))
    at = torch.stack([torch.arange(LENGTH), torch.arange(LENGTH).flip(0) + 3])
    check(SCORES.ScaledDot(), NORMALIZERS.Softmax(), heads, bias=build(bias), query_at=at, key_at=at)


@pytest.mark.parametrize("mask", examples(MASKS))
def test_for_every_mask(mask: Mask) -> None:
    check(SCORES.ScaledDot(), NORMALIZERS.Softmax(), keep=mask)
    check(SCORES.ScaledDot(), NORMALIZERS.Softmax(), keep=~mask & MASKS.Causal())
    at = torch.arange(LENGTH)
    check(SCORES.ScaledDot(), NORMALIZERS.Softmax(), keep=mask(at, at))


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_for_every_normalizer(normalizer: Normalizer) -> None:
    score = next(score for score in parts(SCORES) if combines(score, normalizer))
    check(build(score), normalizer)


@pytest.mark.parametrize(
    "shape", [(LENGTH,), (LENGTH, LENGTH), (HEADS, 1, 1), (HEADS, LENGTH, 1), (BATCH, 1, LENGTH, LENGTH)], ids=str
)
def test_for_tensors_that_broadcast(shape: tuple[int, ...]) -> None:
    check(SCORES.Dot(), NORMALIZERS.Softmax(), bias=torch.randn(shape, dtype=torch.float64))
    check(SCORES.Dot(), NORMALIZERS.Softmax(), keep=torch.rand(shape) < 0.5)
