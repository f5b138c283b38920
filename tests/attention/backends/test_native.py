from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.backend import Backend, choose
from regard.attention.backends import native
from regard.attention.backends.fused import Fused
from regard.attention.backends.native import Native
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.sparsemax import Sparsemax
from regard.attention.part import Sizes
from regard.attention.positions.alibi import Alibi
from regard.attention.scores.additive import Additive
from regard.attention.scores.bilinear import Bilinear
from regard.attention.scores.cosine import Cosine
from regard.attention.scores.distance import Distance
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import CombinationError
from regard.native.training import training_kernels

SIZES = Sizes(width=16, heads=4, key_heads=2, query_width=4, key_width=4, value_width=4)

pytestmark = pytest.mark.skipif(training_kernels() is None, reason="there is no C compiler")


@pytest.fixture
def _two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def sides(queries: int = 5, keys: int = 5, key_heads: int = 2, kind: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    shapes = (2, 4, queries, 4), (2, key_heads, keys, 4), (2, key_heads, keys, 6)
    return tuple(torch.randn(shape).to(kind).requires_grad_() for shape in shapes)


def call(given: tuple[Tensor, ...] | None = None, **parts: Any) -> Call:
    return Call(*(sides() if given is None else given), **({"score": ScaledDot(), "normalizer": Softmax()} | parts))


def gradients(backend: Backend | None, one: Call, *learned: Tensor, **settings: Any) -> tuple[Tensor, ...]:
    output = (define(one) if backend is None else backend(one)).output
    slopes = torch.linspace(-1, 1, output.numel()).view_as(output).to(output.dtype)
    return output, *torch.autograd.grad(output, learned or (one.query, one.key, one.value), slopes, **settings)


def test_refuses_what_the_kernel_does_not_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons: dict[str, dict[str, Any]] = {
        "Sparsemax is not the softmax that the kernel computes": {"normalizer": Sparsemax()},
        "AdditiveWeights is not a dot product of a function of each side": {"score": Additive().build(SIZES)},
        "it has no dropout of attention weights": {"dropout": 0.1},
        "it has no gradient for a bias, which may learn": {"bias": torch.zeros(5, 5, requires_grad=True)},
        "it computes with plain tensors of float32 or bfloat16 on a CPU": {"bias": torch.zeros(5, 5).double()},
    }
    for reason, parts in reasons.items():
        assert Native().refusal(call(**parts)) == reason
    assert Native().refusal(call(bias=Alibi().build(SIZES))) == "it has no gradient for a bias, which may learn"
    assert Native().refusal(call(sides(kind=torch.float64))) is not None
    assert Native().refusal(call(sides(kind=torch.bfloat16))) is None
    assert Native().refusal(call(bias=torch.zeros(5, 5))) is None
    monkeypatch.setattr(native, "training_kernels", lambda: None)
    assert Native().refusal(call()) == "its kernels are not compiled here"
    assert isinstance(choose(call()), Fused)
    with pytest.raises(CombinationError, match="its kernels are not compiled here"):
        Native()(call())


def test_is_chosen_for_short_sequences_while_a_lane_learns() -> None:
    assert isinstance(choose(call(keep=Causal())), Native)
    assert isinstance(choose(call(sides(5, 128))), Native)
    assert isinstance(choose(call(sides(5, 129))), Fused)
    assert Native().hesitation(call(sides(129, 5))) == "there are more than 128 positions"
    with torch.no_grad():
        assert Native().hesitation(call()) == "no gradient is asked for"
    still = tuple(side.detach() for side in sides())
    assert isinstance(choose(call(still)), Fused)


@pytest.mark.usefixtures("_two_threads")
def test_is_not_chosen_where_torch_has_more_threads() -> None:
    assert Native().hesitation(call()) == "it computes in one thread, and torch has several"
    assert isinstance(choose(call()), Fused)


@pytest.mark.parametrize("score", [ScaledDot(), Cosine(), Distance(), Bilinear()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_computes_every_score_that_is_a_dot_product(score: Any, key_heads: int) -> None:
    built = score.build(SIZES) if isinstance(score, Bilinear) else score
    weights = list(built.parameters()) if isinstance(built, nn.Module) else []
    one = call(sides(5, 7, key_heads), score=built, keep=torch.rand(2, 1, 5, 7) < 0.7, bias=torch.randn(4, 1, 7))
    learned = one.query, one.key, one.value, *weights
    for found, wanted in zip(gradients(Native(), one, *learned), gradients(None, one, *learned), strict=True):
        torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("score", [ScaledDot(), Cosine(), Bilinear()], ids=lambda one: type(one).__name__)
def test_mixed_precision_rounds_only_what_comes_and_goes(score: Any) -> None:
    built = score.build(SIZES) if isinstance(score, Bilinear) else score
    with torch.autocast("cpu", torch.bfloat16):
        short = call(sides(kind=torch.bfloat16), score=built, bias=100 + torch.randn(5, 5), keep=Causal())
        found = gradients(Native(), short)
    wide = call(tuple(side.detach().float().requires_grad_() for side in (short.query, short.key, short.value)))
    wanted = gradients(None, call((wide.query, wide.key, wide.value), score=built, bias=short.bias, keep=Causal()))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.float(), other, atol=0.02, rtol=0.01)


def test_sides_of_several_precisions_are_made_alike() -> None:
    query, key, value = sides()
    with torch.autocast("cpu", torch.bfloat16):
        assert Native()(call((query, key.bfloat16(), value.bfloat16()))).output.dtype == torch.float32


def test_a_query_that_sees_nothing_reads_zeros_and_its_gradient_is_finite() -> None:
    keep = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    keep[0, 0, 2] = keep[1] = False
    for create in (False, True):
        output, *found = gradients(Native(), call(keep=keep), create_graph=create)
        assert not output[0, :, 2].any()
        assert not output[1].any()
        assert not any(one[1].any() for one in found)
        assert all(one.isfinite().all() for one in found)


@pytest.mark.parametrize("keep", [None, Causal()])
def test_the_gradient_can_be_differentiated(keep: Any) -> None:
    one = call(sides(5, 6), keep=keep)
    twice = []
    for backend in (Native(), None):
        _, *first = gradients(backend, one, create_graph=True)
        total = sum(part.square().sum() for part in first)
        twice.append([*first, *torch.autograd.grad(total, (one.query, one.key, one.value))])
    for found, wanted in zip(*twice, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_many_gradients_at_once() -> None:
    one = call()
    output = Native()(one).output
    slopes = torch.randn(3, *output.shape)
    together = torch.autograd.grad(output, one.query, slopes, retain_graph=True, is_grads_batched=True)[0]
    for at, slope in enumerate(slopes):
        apart = torch.autograd.grad(output, one.query, slope, retain_graph=True)[0]
        torch.testing.assert_close(together[at], apart, atol=1e-5, rtol=1e-5)


def test_what_transforms_functions_computes_with_another_backend() -> None:
    query, key, value = (side.detach() for side in sides())

    def total(query: Tensor) -> Tensor:
        return choose(call((query, key, value)))(call((query, key, value))).output.square().sum()

    learned = query.clone().requires_grad_()
    wanted = torch.autograd.grad(total(learned), learned)[0]
    torch.testing.assert_close(torch.func.grad(total)(query), wanted, atol=1e-5, rtol=1e-5)


def test_gradients_of_any_layout_are_taken() -> None:
    one = call()
    plain = torch.autograd.grad(Native()(one).output.sum(), (one.query, one.key, one.value))
    output = Native()(one).output
    slopes = torch.ones(2, 4, 6, 5).mT
    for found, wanted in zip(torch.autograd.grad(output, (one.query, one.key, one.value), slopes), plain, strict=True):
        assert torch.equal(found, wanted)


def test_no_sentences_are_read() -> None:
    empty = tuple(side[:0] for side in sides())
    output = Native()(call(empty, keep=Causal())).output
    assert output.shape == (0, 4, 5, 6)
    output.sum().backward()
