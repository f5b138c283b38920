import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.layers import output_loss
from regard.layers.output_loss import blockwise, wide
from regard.native.training import training_kernels


def some(kind: torch.dtype = torch.float64, tokens: int = 11) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    hidden, weight, bias = (torch.randn(*size, dtype=kind) for size in ((tokens, 5), (7, 5), (7,)))
    return hidden.requires_grad_(), weight.requires_grad_(), bias.requires_grad_(), torch.randint(0, 7, (tokens,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("rows", [1, 4, 11, 100])
@pytest.mark.parametrize("biased", [True, False])
def test_it_is_torch_cross_entropy_with_its_gradients(smoothing: float, rows: int, biased: bool) -> None:
    hidden, weight, bias, targets = some()
    leaves = [hidden, weight, bias] if biased else [hidden, weight]
    logits = F.linear(hidden, weight, bias if biased else None)
    reference = F.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    wanted = torch.autograd.grad(reference * 3, leaves)
    total, likelihood = blockwise(hidden, weight, bias if biased else None, targets, smoothing, rows)
    torch.testing.assert_close(total, reference, rtol=0, atol=1e-10)
    plain = F.cross_entropy(logits, targets, reduction="sum")
    torch.testing.assert_close(likelihood, plain.detach(), rtol=0, atol=1e-10)
    assert not likelihood.requires_grad
    for found, gradient in zip(torch.autograd.grad(total * 3, leaves), wanted, strict=True):
        torch.testing.assert_close(found, gradient, rtol=0, atol=1e-10)


def test_gradients_agree_with_differences() -> None:
    hidden, weight, bias, targets = some(tokens=4)
    assert torch.autograd.gradcheck(lambda *leaves: blockwise(*leaves, targets, 0.2, 3)[0], (hidden, weight, bias))


def test_it_can_be_gone_back_through_twice() -> None:
    hidden, weight, bias, targets = some()
    total, _ = blockwise(hidden, weight, bias, targets, 0.1, 4)
    first = torch.autograd.grad(total, weight, retain_graph=True)[0]
    assert torch.equal(torch.autograd.grad(total, weight)[0], first)


def test_without_gradients_the_numbers_are_the_same() -> None:
    hidden, weight, bias, targets = some()
    learned = blockwise(hidden, weight, bias, targets, 0.1, 4)
    with torch.no_grad():
        found = blockwise(hidden, weight, bias, targets, 0.1, 4)
    assert torch.equal(found[0], learned[0].detach())
    assert torch.equal(found[1], learned[1])
    assert not found[0].requires_grad


def test_no_tokens_have_no_loss() -> None:
    hidden, weight, bias, _ = some(tokens=0)
    total, likelihood = blockwise(hidden, weight, bias, torch.zeros(0, dtype=torch.int64), 0.1, 4)
    total.backward()
    assert total.item() == likelihood.item() == 0
    assert weight.grad is not None
    assert not weight.grad.any()


def test_large_logits_do_not_overflow() -> None:
    hidden, weight = torch.tensor([[200.0, -200.0]]), torch.eye(2, requires_grad=True)
    total, _ = blockwise(hidden, weight, None, torch.tensor([1]), 0.0, 1)
    assert total.item() == 400
    total.backward()
    assert weight.grad is not None
    assert weight.grad.isfinite().all()


@pytest.mark.usefixtures("bfloat16")
def test_short_floats_are_summed_in_wide_ones() -> None:
    assert wide(torch.bfloat16) == torch.float32
    assert wide(torch.float64) == torch.float64
    hidden, weight, bias, targets = some(torch.float32, tokens=300)
    reference = F.cross_entropy(F.linear(hidden, weight, bias), targets, reduction="sum", label_smoothing=0.1)
    wanted = torch.autograd.grad(reference, (hidden, weight, bias))
    with torch.autocast("cpu", torch.bfloat16):
        total, _ = blockwise(hidden, weight, bias, targets, 0.1, 64)
    assert total.dtype == torch.float32
    torch.testing.assert_close(total, reference, rtol=1e-2, atol=0)
    for found, gradient in zip(torch.autograd.grad(total, (hidden, weight, bias)), wanted, strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, gradient, rtol=0.1, atol=0.1)


def test_all_logits_are_never_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        numbers = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            result = func(*args, **(kwargs or {}))
            if isinstance(result, Tensor):
                self.numbers = max(self.numbers, result.numel())
            return result

    hidden, weight, targets = torch.randn(640, 4), torch.randn(50, 4), torch.randint(0, 50, (640,))
    with Largest() as largest:
        blockwise(hidden, weight.requires_grad_(), None, targets, 0.1, 64)[0].backward()
    assert largest.numbers == 64 * 50


needs_kernels = pytest.mark.skipif(training_kernels() is None, reason="there is no C compiler")


@needs_kernels
@pytest.mark.parametrize("rows", [1, 4, 100])
@pytest.mark.parametrize("biased", [True, False])
def test_kernels_and_torch_agree(rows: int, biased: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, weight, bias, targets = some(torch.float32, tokens=40)
    bias, leaves = (bias[:7], [hidden, weight, bias]) if biased else (None, [hidden, weight])
    found = []
    for turn in range(2):
        total, likelihood = blockwise(hidden, weight, bias, targets.repeat_interleave(2)[::2], 0.1, rows)
        found.append((total.detach(), likelihood, *torch.autograd.grad(2 * total, leaves)))
        if turn == 0:
            monkeypatch.setattr(output_loss, "training_kernels", lambda: None)
    for compiled, plain in zip(*found, strict=True):
        assert compiled.dtype == torch.float32
        torch.testing.assert_close(compiled, plain, atol=2e-4, rtol=1e-6)  # 40 rows and 7 words of size about 5


@needs_kernels
@pytest.mark.usefixtures("bfloat16")
def test_kernels_and_torch_agree_in_mixed_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, weight, bias, targets = some(torch.float32, tokens=40)
    found = []
    for turn in range(2):
        with torch.autocast("cpu", torch.bfloat16):
            total, likelihood = blockwise(hidden, weight, bias, targets, 0.1, 16)
        found.append((total.detach(), likelihood, *torch.autograd.grad(total, (hidden, weight, bias))))
        if turn == 0:
            monkeypatch.setattr(output_loss, "training_kernels", lambda: None)
    for compiled, plain in zip(*found, strict=True):
        assert compiled.dtype == torch.float32
        torch.testing.assert_close(compiled, plain, atol=0.05, rtol=1e-2)  # slopes are rounded to eight bits


@pytest.mark.parametrize("target", [-1, 7])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=str)
def test_a_target_outside_the_vocabulary_is_an_error(target: int, kind: torch.dtype) -> None:
    hidden, weight, bias, targets = some(kind)
    targets[4] = target
    with pytest.raises((IndexError, RuntimeError), match=r"vocabulary|out of bounds"):
        blockwise(hidden, weight, bias, targets, 0.1, 4)


def test_a_bias_whose_numbers_are_apart_is_taken() -> None:
    hidden, weight, _, targets = some(torch.float32)
    bias = torch.randn(7, 3)[:, 1].requires_grad_()
    total, _ = blockwise(hidden, weight, bias, targets, 0.0, 4)
    logits = F.linear(hidden, weight, bias)
    wanted = torch.autograd.grad(F.cross_entropy(logits, targets, reduction="sum"), bias)[0]
    torch.testing.assert_close(torch.autograd.grad(total, bias)[0], wanted, atol=1e-5, rtol=1e-5)
