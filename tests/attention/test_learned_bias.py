"""Attention with a learned bias against the definition: numbers, and the gradients of everything that learns."""

from functools import partial

import pytest
import torch
from torch import Tensor

from regard.attention.learned_bias import read_biased


def by_definition(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, keep: Tensor | None, scale: float) -> Tensor:
    logits = scale * torch.einsum("bhqd,bhkd->bhqk", query, key) + bias
    allowed = torch.ones_like(logits, dtype=torch.bool) if keep is None else keep.expand_as(logits)
    parts = logits.masked_fill(~allowed, 0.0).exp() * allowed
    return torch.einsum("bhqk,bhkd->bhqd", parts / parts.sum(-1, keepdim=True).clamp(min=1e-300), value)


@pytest.mark.parametrize("bias_shape", [(2, 4, 5), (1, 2, 4, 5), (3, 1, 1, 5), (5,)])
@pytest.mark.parametrize("hidden", ["nothing", "some", "a whole row"])
def test_it_is_the_definition_with_all_gradients(bias_shape: tuple[int, ...], hidden: str) -> None:
    torch.manual_seed(1)
    sides = [torch.randn(3, 2, length, width).double() for length, width in ((4, 6), (5, 6), (5, 7))]
    given = [side.requires_grad_() for side in (*sides, torch.randn(bias_shape).double())]
    keep = None if hidden == "nothing" else torch.rand(3, 1, 4, 5) > 0.4
    if keep is not None:
        keep[..., 0] = True
        keep[1, :, 2] = hidden == "some"
    compute = partial(read_biased, keep=keep, scale=0.3)
    expected = by_definition(*given, keep=keep, scale=0.3)
    torch.testing.assert_close(compute(*given), expected, atol=1e-12, rtol=0)
    assert torch.autograd.gradcheck(compute, given)


def test_gradients_have_gradients_as_maml_needs_them() -> None:
    torch.manual_seed(1)
    given = [torch.randn(1, 2, length, 2).double().requires_grad_() for length in (2, 3, 3)]
    given.append(torch.randn(2, 2, 3).double().requires_grad_())
    keep = torch.tensor([[True, False, True], [False, False, False]])
    assert torch.autograd.gradgradcheck(partial(read_biased, keep=keep, scale=0.3), given)


def test_sides_need_not_be_contiguous() -> None:
    torch.manual_seed(1)
    packed = torch.randn(3, 5, 3, 2, 4).double().requires_grad_()
    query, key, value = (side.transpose(1, 2) for side in packed.unbind(2))
    bias = torch.randn(2, 5, 5).double().requires_grad_()
    weights = torch.randn(3, 2, 5, 4).double()
    found = []
    for read in (read_biased, by_definition):
        made = (read(query, key, value, bias, None, 0.5) * weights).sum()
        found.append((made, *torch.autograd.grad(made, (packed, bias))))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)
