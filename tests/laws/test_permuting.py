"""Law: attention sees a bag of pairs. Permuting keys and values, with all that is said of them, changes nothing."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.backend import BACKENDS, Backend
from regard.attention.mask import MASKS, Mask
from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.attention.score import SCORES, Score

from .examples import BATCH, HEADS, LENGTH, biases, build, call_of, examples, for_any_mask, serving, tensors

ORDER = torch.tensor([4, 0, 6, 2, 1, 5, 3])
AT = torch.arange(LENGTH)


def check(backend: Backend, score: Any, normalizer: Any, keep: Tensor | Mask | None = None, bias: Any = None) -> int:
    query, key, value = (tensor.detach() for tensor in tensors())
    before = call_of(query, key, value, score, normalizer, keep=keep, bias=bias, query_at=AT, key_at=AT)
    after = call_of(
        query,
        key[:, :, ORDER],
        value[:, :, ORDER],
        score,
        normalizer,
        keep=keep[..., ORDER] if isinstance(keep, Tensor) else keep,
        bias=bias[..., ORDER] if isinstance(bias, Tensor) else bias,
        query_at=AT,
        key_at=AT[ORDER],
    )
    if backend.refusal(before) is not None:
        return 0
    with torch.no_grad():
        torch.testing.assert_close(backend(after).output, backend(before).output, atol=1e-11, rtol=1e-11)
    return 1


@pytest.mark.parametrize(("backend", "normalizer", "scores"), serving())
def test_for_every_score_and_normalizer(backend: Backend, normalizer: Normalizer, scores: list[Score]) -> None:
    pairs = torch.rand(BATCH, 1, LENGTH, LENGTH) < 0.6
    for score in scores:
        assert check(backend, build(score), normalizer)
        check(backend, build(score), normalizer, keep=pairs)


@pytest.mark.parametrize("backend", for_any_mask())
@pytest.mark.parametrize("mask", examples(MASKS))
def test_for_every_mask(mask: Mask, backend: Backend) -> None:
    served = check(backend, SCORES.ScaledDot(), NORMALIZERS.Softmax(), keep=mask)
    served += check(backend, SCORES.Kernel(), NORMALIZERS.Ratio(), keep=mask)
    assert served or not mask.keys_only


@pytest.mark.parametrize("backend", examples(BACKENDS))
@pytest.mark.parametrize("bias", biases())
def test_for_every_bias(bias: Any, backend: Backend) -> None:
    check(backend, SCORES.ScaledDot(), NORMALIZERS.Softmax(), bias=build(bias))
    check(backend, SCORES.ScaledDot(), NORMALIZERS.Softmax(), bias=build(bias), keep=MASKS.Causal())
    check(backend, SCORES.Dot(), NORMALIZERS.Softmax(), bias=torch.randn(HEADS, LENGTH, LENGTH, dtype=torch.float64))
