"""The best words without the logits. The layers are compared with torch in tests/decoding/packed."""

import shutil

import numpy as np
import pytest
import torch

from regard.native.compiled_layers import BestWords, Steps, products_work
from regard.native.kernels import Kernels
from regard.native.structures import Packer

RUNS = {"AVX512": ("avx512", "avx2", "plain"), "AVX2": ("avx2", "plain")}
HERE = RUNS.get(torch.backends.cpu.get_cpu_capability(), ("plain",))

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
    words = BestWords(native, output, packer.wide, rows=rows, count=6, end=3, banned=banned)
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
    assert ask(native)
    linear = Packer.linear
    monkeypatch.setattr(Packer, "linear", lambda packer, weight, bias: linear(packer, np.roll(weight, 1, 1), bias))
    assert not ask(native)


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
