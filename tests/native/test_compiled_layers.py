"""The best words without the logits. The layers are compared with torch in tests/decoding/packed."""

import shutil

import numpy as np
import pytest
import torch

from regard.layers.inference.int8 import quantized
from regard.native.compiled_layers import BestWords, Steps, bytes_work, products_work
from regard.native.kernels import Kernels
from regard.native.structures import Packer
from tests.native.here import HERE

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.mark.parametrize("kind", HERE)
@pytest.mark.parametrize(("rows", "width", "vocabulary"), [(1, 16, 40), (7, 32, 1501), (13, 520, 333)])
def test_the_best_words_and_the_sum_of_exponentials(kind: str, rows: int, width: int, vocabulary: int) -> None:
    torch.manual_seed(rows)
    native, x, weight, bias = (
        Kernels(kind),
        torch.randn(rows, width),
        torch.randn(vocabulary, width),
        torch.randn(vocabulary),
    )
    packer, banned = Packer(native.lanes), np.array([0, 5, vocabulary - 1])
    output = packer.linear(weight.numpy(), bias.numpy())
    words = BestWords(native, output, rows=rows, count=6, end=3, banned=banned)
    words(x.numpy(), rows)
    logits = (x.double() @ weight.double().T + bias.double()).float()
    torch.testing.assert_close(torch.from_numpy(words.norm), logits.logsumexp(1), atol=1e-4, rtol=1e-5)
    torch.testing.assert_close(torch.from_numpy(words.ending[:rows]), logits[:, 3], atol=1e-4, rtol=1e-5)
    logits[:, banned] = -torch.inf
    best = logits.topk(6)
    torch.testing.assert_close(torch.from_numpy(words.logits), best.values, atol=1e-4, rtol=1e-5)
    assert words.tokens.tolist() == best.indices.tolist()


@pytest.mark.parametrize("kind", HERE)
def test_they_pass_their_own_test_which_finds_faults(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    native = Kernels(kind)
    ask = products_work.__wrapped__
    assert ask(native) and bytes_work.__wrapped__(native)
    linear, whole = Packer.linear, Packer.quantized
    monkeypatch.setattr(Packer, "linear", lambda packer, weight, bias: linear(packer, np.roll(weight, 1, 1), bias))
    monkeypatch.setattr(Packer, "quantized", lambda packer, weight, *rest: whole(packer, np.roll(weight, 1, 1), *rest))
    assert not ask(native) and not bytes_work.__wrapped__(native)


@pytest.mark.parametrize(("rows", "width", "vocabulary"), [(1, 16, 40), (7, 30, 1501), (13, 520, 333)])
def test_products_of_bytes_are_those_of_the_formula_and_the_same_under_every_instruction_set(
    rows: int, width: int, vocabulary: int
) -> None:
    torch.manual_seed(rows)
    x, weight = torch.randn(rows, width) * torch.logspace(-3, 3, rows)[:, None], torch.randn(vocabulary, width)
    bias, (whole, scale) = torch.randn(vocabulary), quantized(weight)
    factor = 127 / x.abs().amax(1, keepdim=True)
    sums = (x * factor).round().double() @ whole.double().T
    logits = (sums / factor * scale + bias).float()
    found = []
    for kind in HERE:
        native = Kernels(kind)
        packer = Packer(native.lanes)
        output = packer.quantized(whole.numpy(), scale.numpy(), bias.numpy())
        words = BestWords(native, output, rows=rows, count=6, end=3, banned=np.array([0]))
        words(x.numpy(), rows)
        best = logits.index_fill(1, torch.tensor([0]), -torch.inf).topk(6)
        torch.testing.assert_close(torch.from_numpy(words.logits), best.values, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(torch.from_numpy(words.norm), logits.logsumexp(1), atol=1e-4, rtol=1e-5)
        assert words.tokens.tolist() == best.indices.tolist()
        found.append(words.logits)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=3e-7, atol=1e-6)


def test_a_row_with_nan_has_nan_among_bytes_too() -> None:
    native = Kernels(HERE[0])
    packer, x = Packer(native.lanes), np.ones((2, 16), np.float32)
    x[1, 5] = np.nan
    output = packer.quantized(np.ones((8, 16), np.int8), np.ones(8, np.float32), None)
    words = BestWords(native, output, rows=2, count=2, end=3, banned=np.empty(0, np.int64))
    words(x, 2)
    assert np.isfinite(words.norm[0]) and not np.isfinite(words.norm[1])


def test_what_no_hypothesis_sees_is_dropped() -> None:
    steps = Steps()
    for rows in (1, 4, 4):
        steps.add(np.arange(2.0 * rows, dtype=np.float32).reshape(2, rows, 1))
    ancestry = np.array([[0, 3, 0, -1], [0, 3, 1, -1], [0, 3, 2, -1]], np.int32)
    before = steps.size
    steps.prune(ancestry)
    assert ancestry.tolist() == [[0, 0, 0, -1], [0, 0, 1, -1], [0, 0, 2, -1]]
    assert list(steps.counts[:3]) == [1, 1, 4]
    assert steps.size == before - 6
