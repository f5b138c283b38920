"""Law: a normalizer makes weights of logits: never negative, each key judged by its logit, forbidden keys at zero."""

import pytest
import torch
from torch import Tensor

from regard.attention.normalizer import NORMALIZERS, Normalizer

from .examples import BATCH, HEADS, LENGTH, examples


def logits_for(normalizer: Normalizer, scale: float = 2.0, dtype: torch.dtype = torch.float64) -> Tensor:
    logits = torch.randn(BATCH, HEADS, LENGTH, LENGTH, dtype=dtype) * scale
    return logits.abs() if normalizer.proportional else logits


def some_keep() -> Tensor:
    keep = torch.rand(BATCH, 1, LENGTH, LENGTH) < 0.6
    keep[0, 0, 3] = False
    return keep


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_weights_are_never_negative_and_sum_to_one_where_promised(normalizer: Normalizer) -> None:
    keep = some_keep()
    for weights, seeing in (
        (normalizer(logits_for(normalizer)), torch.ones(BATCH, 1, LENGTH, dtype=torch.bool)),
        (normalizer(logits_for(normalizer), keep), keep.any(-1)),
    ):
        assert normalizer.signed == bool((weights < 0).any())
        sums = weights.sum(-1)
        if normalizer.sums_to_one:
            torch.testing.assert_close(sums, seeing.to(sums).expand_as(sums), atol=1e-12, rtol=0)
        else:
            assert (sums[seeing.expand_as(sums)] - 1).abs().max() > 1e-3


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_forbidden_keys_get_exactly_nothing(normalizer: Normalizer) -> None:
    keep = some_keep().expand(-1, HEADS, -1, -1)
    assert not normalizer(logits_for(normalizer), keep)[~keep].any()


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_forbidden_keys_are_as_if_they_were_not_there(normalizer: Normalizer) -> None:
    logits, keep = logits_for(normalizer), some_keep()
    weights = normalizer(logits, keep)
    for batch in range(BATCH):
        for row in range(LENGTH):
            seen = keep[batch, 0, row]
            alone = normalizer(logits[batch, :, row : row + 1, seen])
            torch.testing.assert_close(weights[batch, :, row : row + 1, seen], alone, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_a_logit_of_nothing_gets_no_weight(normalizer: Normalizer) -> None:
    logits = logits_for(normalizer)
    logits[..., 2] = normalizer.nothing
    weights = normalizer(logits)
    assert not weights[..., 2].any()
    assert weights.isfinite().all()


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_the_order_of_the_keys_does_not_matter(normalizer: Normalizer) -> None:
    logits, keep, order = logits_for(normalizer), some_keep(), torch.randperm(LENGTH)
    expected = normalizer(logits, keep)[..., order]
    torch.testing.assert_close(normalizer(logits[..., order], keep[..., order]), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_the_higher_the_logit_the_more_weight(normalizer: Normalizer) -> None:
    logits = logits_for(normalizer)
    weights = normalizer(logits).gather(-1, logits.argsort(-1))
    assert (weights.diff(dim=-1) >= 0).all()
    assert (weights[..., -1] > weights[..., 0]).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_huge_logits_stay_finite(normalizer: Normalizer, dtype: torch.dtype) -> None:
    for keep in (None, some_keep()):
        logits = (logits_for(normalizer, 1e4, dtype)).requires_grad_()
        weights = normalizer(logits, keep)
        assert weights.isfinite().all()
        if normalizer.sums_to_one and keep is None:
            torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]), atol=1e-5, rtol=0)
        if weights.requires_grad:
            (weights * torch.randn_like(weights)).sum().backward()
            assert logits.grad.isfinite().all()


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_equal_logits_get_equal_weights_unless_some_are_picked(normalizer: Normalizer) -> None:
    weights = normalizer(torch.full((1, 1, LENGTH), 3.0, dtype=torch.float64))
    if normalizer.picks_one:
        assert weights.count_nonzero() == 1
    elif weights.count_nonzero() == LENGTH:
        torch.testing.assert_close(weights, weights[..., :1].expand_as(weights))


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_flags_are_true(normalizer: Normalizer) -> None:
    logits = logits_for(normalizer)
    weights = normalizer(logits)
    if normalizer.exponential:
        ratios = weights / logits.exp()
        torch.testing.assert_close(ratios, ratios[..., :1].expand_as(ratios))
    if normalizer.proportional:
        ratios = weights / logits
        torch.testing.assert_close(ratios, ratios[..., :1].expand_as(ratios))
    assert normalizer.picks_one == bool((weights.count_nonzero(-1) == 1).all())


@pytest.mark.parametrize("normalizer", examples(NORMALIZERS))
def test_masks_of_every_shape_broadcast(normalizer: Normalizer) -> None:
    logits = logits_for(normalizer)
    for shape in ((LENGTH,), (1, LENGTH), (LENGTH, LENGTH), (LENGTH, 1), (HEADS, 1, LENGTH), (BATCH, 1, 1, LENGTH)):
        keep = torch.rand(shape) < 0.5
        torch.testing.assert_close(normalizer(logits, keep), normalizer(logits, keep.expand_as(logits)))
