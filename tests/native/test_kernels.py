"""The compiled kernels compute what float64 formulas and torch compute, under every instruction set of this machine."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from regard.decoding import topk
from regard.decoding.packed import layer, recognized
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.models.gpt import Gpt
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.native import kernels as native
from regard.native.compiling import INSTRUCTION_SETS
from regard.native.kernels import Kernels, best_kind, is_plain_float, kernels, works
from tests.native.here import HERE

VOCABULARY = 150
LENGTHS = torch.tensor([6, 3, 7, 1])
SIZES = {"width": 32, "heads": 2, "feedforward": 24}
LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(params=list(INSTRUCTION_SETS))
def made(request: pytest.FixtureRequest) -> Iterator[Kernels]:
    if request.param not in HERE:
        pytest.skip(f"this processor, or ATEN_CPU_CAPABILITY, has no {request.param}")
    with torch.inference_mode():
        yield Kernels(request.param)


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_they_pass_their_own_test_which_finds_faults(made: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    assert works(made)
    for name, broken in (
        ("log_sum_exp", lambda x: x.logsumexp(1) + 1e-3),
        ("attend", lambda query, *_: query.transpose(1, 2).reshape(4, -1)),
        ("best_of_all", lambda x, shift, count: (x[:2, :count],) * 2 + (torch.zeros(2, count).long(),) * 2),
    ):
        with monkeypatch.context() as change:
            change.setattr(made, name, broken)
            assert not works(made)


@LAW
@given(st.integers(1, 4), st.integers(1, 300), st.floats(0.01, 60), st.integers(0, 999))
def test_log_sum_exp(made: Kernels, rows: int, size: int, spread: float, seed: int) -> None:
    logits = spread * drawn(seed, rows, size)
    logits[drawn(seed + 1, rows, size) > 1] = -torch.inf
    logits[:, seed % size] = 0.5
    torch.testing.assert_close(made.log_sum_exp(logits), logits.double().logsumexp(1).float(), atol=2e-6, rtol=1e-6)


@LAW
@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 300), st.integers(1, 12), st.integers(0, 999))
def test_the_best_of_all(made: Kernels, groups: int, beams: int, size: int, count: int, seed: int) -> None:
    logits, shift = drawn(seed, groups * beams, size), 3 * drawn(seed + 1, groups, beams)
    count = min(count, beams * size)
    sums = (logits.view(groups, beams, size) + shift[:, :, None]).view(groups, -1).topk(count)
    total, value, beam, token = made.best_of_all(logits, shift, count)
    assert torch.equal(total, sums.values)
    assert torch.equal(beam * size + token, sums.indices)
    assert torch.equal(value, logits.view(groups, -1).gather(1, sums.indices))


@pytest.mark.parametrize("place", [0, 63, 64, 639, 640, 699])
def test_the_largest_is_found_wherever_it_stands_and_nothing_that_is_not_there(made: Kernels, place: int) -> None:
    logits = torch.full((2, 700), -torch.inf)
    logits[1, place] = 1.0
    total, value, beam, token = made.best_of_all(logits, torch.tensor([[0.0, -2.0]]), 3)
    assert (total[0].tolist(), value[0, 0]) == ([-1.0, -torch.inf, -torch.inf], 1.0)
    assert (int(beam[0, 0]), int(token[0, 0])) == (1, place)


def test_few_are_found_by_the_kernel_and_many_by_torch(made: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    best = made.best_of_all
    monkeypatch.setattr(made, "best_of_all", lambda x, shift, count: asked.append(count) or best(x, shift, count))
    monkeypatch.setattr(topk, "kernels", lambda: made)
    logits = drawn(1, 2, 700)
    for count in (10, 300):
        assert torch.equal(topk.top(logits, count)[1], logits.topk(count).indices)
    assert asked == [10]


def test_sums_that_differ_by_rounding_are_told_apart_as_torch_tells_them(made: Kernels) -> None:
    logits = (100 + 1e-5 * drawn(1, 2, 640)).float()
    shift = torch.tensor([[-30.0, -30.00001]])
    total = made.best_of_all(logits, shift, 20)[0]
    assert torch.equal(total, (logits[None] + shift[:, :, None]).view(1, -1).topk(20).values)


@LAW
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.integers(1, 40), st.booleans(), st.integers(0, 999))
def test_attention(made: Kernels, sentences: int, heads: int, beams: int, keys: int, shared: bool, seed: int) -> None:
    query = drawn(seed, sentences, beams, 3, heads, 32).permute(2, 0, 3, 1, 4)[0]
    key, value = drawn(seed + 1, 2, sentences, heads, keys + 3, 32)[:, :, :, :keys].unbind()
    bias = torch.zeros(sentences, 1, 1 if shared else beams, keys)
    bias[drawn(seed + 2, *bias.shape) > 0.5] = -torch.inf
    bias[..., seed % keys] = 0
    assert made.can_attend(query, key, value, bias)
    weights = (query.double() @ key.double().mT * 0.3 + bias).softmax(-1)
    wanted = (weights @ value.double()).transpose(1, 2).reshape(sentences * beams, -1).float()
    torch.testing.assert_close(made.attend(query, key, value, bias, 0.3), wanted, atol=2e-6, rtol=1e-5)


def test_attention_of_heads_that_share_keys_with_a_bias_of_their_own(made: Kernels) -> None:
    query, (key, value) = drawn(1, 2, 6, 3, 32), drawn(2, 2, 2, 3, 21, 32).unbind()
    bias = drawn(3, 2, 6, 3, 21)
    bias[drawn(4, 2, 1, 3, 21).expand_as(bias) > 1.0] = -torch.inf
    keys, values = (side.double().repeat_interleave(2, 1) for side in (key, value))
    weights = (query.double() @ keys.mT * 0.3 + bias).softmax(-1)
    wanted = (weights @ values).transpose(1, 2).reshape(6, -1).float()
    torch.testing.assert_close(made.attend(query, key, value, bias, 0.3), wanted, atol=2e-6, rtol=1e-5)


def test_a_row_does_not_depend_on_its_company(made: Kernels) -> None:
    logits = 5 * drawn(1, 6, 333)
    alone = [made.log_sum_exp(logits[at : at + 1]) for at in range(6)]
    assert torch.equal(made.log_sum_exp(logits), torch.cat(alone))
    query, key, value = drawn(2, 3, 4, 2, 5, 32).unbind()
    bias = torch.zeros(4, 1, 1, 5)
    apart = [made.attend(*(side[at : at + 1] for side in (query, key, value, bias)), 0.2) for at in range(4)]
    assert torch.equal(made.attend(query, key, value, bias, 0.2), torch.cat(apart))


def test_what_is_no_number_stays_none(made: Kernels) -> None:
    logits = drawn(1, 2, 200)
    logits[1, 70] = torch.nan
    norm = made.log_sum_exp(logits)
    assert norm.isnan().tolist() == [False, True]
    assert made.best_of_all(logits, -norm[:, None], 2)[0].isnan().all(1).tolist() == [False, True]
    assert made.log_sum_exp(torch.full((1, 70), -torch.inf)).isnan().all()
    query, key, value = drawn(2, 3, 1, 1, 2, 32).unbind()
    assert made.attend(query, key, value, torch.full((1, 1, 1, 2), -torch.inf), 1.0).isnan().all()
    key[0, 0, 1, 3] = torch.nan
    assert made.attend(query, key, value, torch.zeros(1, 1, 1, 2), 1.0).isnan().all()


def test_other_tensors_are_left_to_torch(made: Kernels) -> None:
    query, key, value = drawn(2, 3, 1, 1, 2, 32).unbind()
    bias = torch.zeros(1, 1, 1, 2)
    assert made.can_attend(query, key, value, bias)
    assert not made.can_attend(query.double(), key, value, bias)
    assert not made.can_attend(query[..., ::2], key[..., ::2], value[..., ::2], bias)
    assert not made.can_attend(query[..., :3], key[..., :3], value[..., :3], bias)
    assert not made.can_attend(query.repeat(1, 1, 20, 1), key, value, bias)
    with torch.inference_mode(False), torch.enable_grad():
        assert not is_plain_float(torch.zeros(1))


MODELS: dict[str, Callable[[], Any]] = {
    "transformer": lambda: Transformer(encoder_layers=1, decoder_layers=2, **SIZES),
    "recurrent": lambda: Seq2seq(width=16, embedding=16),
    "language model": lambda: Gpt(layers=2, **SIZES),
}
STRATEGIES = (Beam(size=4, n_best=3, max_length=9), Greedy(max_length=9), Beam(size=3, min_length=3, no_repeat_ngram=2))


@pytest.mark.parametrize("name", MODELS)
def test_searches_find_the_same_with_and_without(made: Kernels, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    model = MODELS[name]().build(dict.fromkeys(("source", "target", "text"), VOCABULARY)).eval()
    source = None if name == "language model" else torch.randint(4, VOCABULARY, (4, 7))
    given_ = (None, None) if source is None else (source, LENGTHS)
    prefixes = [[5], [6, 7], [8], [9]]
    for strategy in (*STRATEGIES, Sample(top_k=5, max_length=6, seed=1)):
        found = []
        for chosen in (made, None):
            for module in (topk, layer, recognized):
                monkeypatch.setattr(module, "kernels", lambda chosen=chosen: chosen)
            found.append(search(model, *given_, strategy, prefixes))
        assert [[one.tokens for one in own] for own in found[0]] == [[one.tokens for one in own] for own in found[1]]
        scores = [torch.tensor([one.score for own in side for one in own]) for side in found]
        torch.testing.assert_close(*scores, atol=1e-4, rtol=1e-5)


def test_a_user_may_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = kernels.__wrapped__
    monkeypatch.setenv(native.NATIVE_SWITCH, "0")
    assert ask() is None
    monkeypatch.delenv(native.NATIVE_SWITCH)
    found = ask()
    assert found is not None and found.kind == HERE[0]
    monkeypatch.setattr(native, "works", lambda made: False)
    assert ask() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert ask() is None


def test_bytes_are_multiplied_by_vnni_unless_onednn_is_held_to_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(native, "announced", lambda kind: True)
    for setting, kind in (("", "avx512vnni"), ("AVX512_CORE_BF16", "avx512vnni"), ("avx512_core", "avx512")):
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", setting)
        assert best_kind() == kind
    monkeypatch.setattr(native, "announced", lambda kind: False)
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    assert best_kind() == "avx512"
