import pytest
import torch

from regard.base.chance import drawing
from regard.base.errors import ConfigError
from regard.layers import dropout
from regard.layers.dropout import Dropout, check_share


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_the_expectation_is_kept() -> None:
    dropped = Dropout(0.25).train()(torch.ones(100_000))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="at least 0 and below 1"):
        Dropout(share)
    with pytest.raises(ConfigError, match=r"model\.dropout must be"):
        check_share("model.dropout", share)


def test_it_shows_its_share() -> None:
    assert repr(Dropout(0.3)) == "Dropout(share=0.3)"


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
def test_kernels_and_torch_drop_alike_to_the_bit(kind: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    x, slopes = torch.randn(7, 3, 33).to(kind).mT, torch.randn(33, 3, 7).to(kind).permute(2, 0, 1)
    found = []
    for turn in range(2):
        leaf = x.detach().requires_grad_()
        with drawing(3):
            dropped = Dropout(0.3).train()(leaf)
        dropped.backward(slopes)
        found.append((dropped.detach(), leaf.grad))
        if turn == 0:
            monkeypatch.setattr(dropout, "training_kernels", lambda: None)
    for compiled, plain in zip(*found, strict=True):
        assert compiled.dtype == kind
        assert torch.equal(compiled, plain)


def test_its_gradient_can_be_differentiated_and_batched() -> None:
    x = torch.randn(5, 4, requires_grad=True)
    dropped = Dropout(0.4).train()(x)
    kept = (dropped != 0) / (1 - round(0.4 * 256) / 256)
    slopes = torch.randn(5, 4, requires_grad=True)
    first = torch.autograd.grad(dropped, x, slopes, create_graph=True)[0]
    torch.testing.assert_close(torch.autograd.grad(first.sum(), slopes)[0], kept)
    many = torch.randn(3, 5, 4)
    batched = torch.autograd.grad(dropped, x, many, retain_graph=True, is_grads_batched=True)[0]
    torch.testing.assert_close(batched, many * kept)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16], ids=str)
def test_other_numbers_are_left_to_torch(kind: torch.dtype) -> None:
    assert Dropout(0.5).train()(torch.ones(64, dtype=kind)).unique().tolist() == [0, 2]
