"""The compiled kernels for training compute what float64 formulas compute, under every instruction set of this machine.

Tolerances: a sum of n terms of size s in float32 is off by less than n · s · 2⁻²³; bfloat16 rounds to 2⁻⁸ of a number.
"""

import shutil
from collections.abc import Iterator

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import forward_ad

from regard.native import training
from regard.native.compiling import INSTRUCTION_SETS
from regard.native.kernels import Kernels, works
from regard.native.training import Sides, TrainingKernels, are_plain, in_rows, takes, training_kernels, training_works
from tests.native.here import HERE

KINDS = (torch.float32, torch.bfloat16)
LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(params=list(INSTRUCTION_SETS))
def made(request: pytest.FixtureRequest) -> TrainingKernels:
    if request.param not in HERE:
        pytest.skip(f"this processor, or ATEN_CPU_CAPABILITY, has no {request.param}")
    return TrainingKernels(request.param)


@pytest.fixture
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def drawn(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def near(found: Tensor, wanted: Tensor, terms: int, size: float = 1.0) -> None:
    """Equal up to rounding, where sums have so many terms of this size."""
    atol = 4 * terms * size * 2**-23
    torch.testing.assert_close(
        found.double(), wanted.double(), atol=atol, rtol=2**-7 if found.dtype == torch.bfloat16 else 2**-20
    )


def test_they_pass_their_own_test_which_finds_faults(made: TrainingKernels, monkeypatch: pytest.MonkeyPatch) -> None:
    assert training_works(made)
    for name, broken in (
        ("loss_and_slopes", lambda logits, *_, **__: (logits.logsumexp(1), logits[:, 0])),
        ("read", lambda sides: (sides.value, torch.zeros(sides.query.shape[:3]))),
        ("read_back", lambda sides, *_: sides[:3]),
        ("drop", lambda x, *_: x),
    ):
        with monkeypatch.context() as change:
            change.setattr(made, name, broken)
            assert not training_works(made)


@LAW
@given(
    *(st.integers(0, 5), st.integers(1, 300), st.floats(0.01, 30), st.sampled_from(KINDS)),
    *(st.booleans(), st.booleans(), st.integers(0, 999)),
)
def test_the_loss_and_its_slopes(
    made: TrainingKernels,
    rows: int,
    size: int,
    spread: float,
    kind: torch.dtype,
    biased: bool,
    learning: bool,
    seed: int,
) -> None:
    given_logits = (spread * drawn(seed, rows, size)).to(kind)
    bias = drawn(seed + 1, size) if biased else None
    targets = torch.randint(0, size, (rows, 2), generator=torch.Generator().manual_seed(seed))[:, 0]
    logits, by_bias = given_logits.clone(), torch.ones(size)
    log_sum, at_target = made.loss_and_slopes(logits, bias, targets, 0.9, by_bias, learning=learning)
    exact = given_logits.double() if bias is None else given_logits.double() + bias.double()
    near(log_sum, exact.logsumexp(1), size, 1 + spread)
    near(at_target, exact.gather(1, targets[:, None])[:, 0], 1, 1 + spread)
    slopes = exact.softmax(1) - 0.9 * F.one_hot(targets, size)
    near(logits, slopes if learning else given_logits, size, 1 + spread)
    near(by_bias, 1 + slopes.sum(0) if learning else torch.ones(size), size + rows, 1 + spread)


@pytest.mark.parametrize("target", [-1, 7, 2**40])
def test_a_target_that_is_not_in_the_vocabulary_is_refused(made: TrainingKernels, target: int) -> None:
    with pytest.raises(IndexError, match=f"the target {target} is not in a vocabulary of 7"):
        made.loss_and_slopes(torch.zeros(2, 7), None, torch.tensor([3, target]), 1.0, None, learning=True)


def sides_of(seed: int, queries: int, keys: int, groups: int, widths: tuple[int, int], kind: torch.dtype) -> Sides:
    """Three sentences and two heads of keys; their rows are apart in memory, as after a joint projection."""
    width, value_width = widths
    query = drawn(seed, 3, queries, 2 * groups, width + 1)[..., :width].transpose(1, 2)
    key = drawn(seed + 1, 3, keys, 2, width).transpose(1, 2)
    value = drawn(seed + 2, 2, 3, keys, value_width).transpose(0, 1)
    return Sides(query.to(kind), key.to(kind), value.to(kind), None, 0.4)


def bias_of(seed: int, shape: tuple[int, ...], full: tuple[int, ...]) -> Tensor:
    bias = drawn(seed, *shape)
    bias[drawn(seed + 1, *shape) > 0.8] = -torch.inf
    return bias.expand(full)


def exact(sides: Sides, gradient: Tensor) -> tuple[Tensor, ...]:
    """What is read, log Σ exp of the logits, and the gradients, in float64; rows that see nothing read zeros."""
    query, key, value = (side.double().detach().requires_grad_() for side in sides[:3])
    groups = query.shape[1] // key.shape[1]
    logits = sides.scale * query @ key.repeat_interleave(groups, 1).mT
    hidden = torch.zeros_like(logits, dtype=torch.bool) if sides.bias is None else sides.bias == -torch.inf
    if sides.bias is not None:
        logits = logits + sides.bias.double().masked_fill(hidden, 0.0)
    weights = logits.masked_fill(hidden, -1e300).softmax(-1).masked_fill(hidden, 0.0)
    read = weights @ value.repeat_interleave(groups, 1)
    log_sum = logits.masked_fill(hidden, -torch.inf).logsumexp(-1)
    return read.detach(), log_sum.detach(), *torch.autograd.grad(read, (query, key, value), gradient.double())


@LAW
@given(
    *(st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.sampled_from(KINDS)),
    *(st.sampled_from([(32, 32), (5, 3), (16, 33), (1, 1)]), st.sampled_from(range(5)), st.integers(0, 999)),
)
def test_attention_and_its_gradient(
    made: TrainingKernels,
    queries: int,
    keys: int,
    groups: int,
    kind: torch.dtype,
    widths: tuple[int, int],
    shared: int,
    seed: int,
) -> None:
    sides, heads = sides_of(seed, queries, keys, groups, widths, kind), 2 * groups
    full = 3, heads, queries, keys
    shapes = None, (3, 1, 1, keys), (1, 1, queries, keys), (3, heads, 1, 1), full
    if (shape := shapes[shared]) is not None:
        sides = sides._replace(bias=bias_of(seed + 3, shape, full))
    gradient = drawn(seed + 5, 3, heads, widths[1], queries).to(kind).mT
    wanted = exact(sides, gradient)
    read, log_sum = made.read(sides)
    found = read, log_sum, *made.read_back(sides, log_sum, gradient)
    terms = max(queries, keys) * groups + max(widths)
    for one, right in zip(found, wanted, strict=True):
        assert one.dtype == (torch.float32 if one is log_sum else kind)
        near(one, right, terms, max(1.0, right[right.isfinite()].abs().max().item()) * (1 + max(widths)))


def test_parts_of_a_joint_projection_are_not_copied(made: TrainingKernels, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(2)
    parts = [one.transpose(1, 2) for one in torch.randn(3, 5, 3, 2, 16).unbind(2)]
    gradient = torch.randn(3, 5, 2, 16).transpose(1, 2)
    whole = Sides(*(one.contiguous() for one in parts), None, 0.25)
    wanted = made.read_back(whole, made.read(whole)[1], gradient)
    monkeypatch.setattr(Tensor, "contiguous", lambda _: pytest.fail("a copy"))
    sides = Sides(*parts, None, 0.25)
    found = made.read_back(sides, made.read(sides)[1], gradient)
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))


def test_a_query_that_sees_nothing_reads_zeros_and_has_no_gradient(made: TrainingKernels) -> None:
    bias = torch.zeros(3, 1, 1, 5)
    bias[1] = -torch.inf
    sides = sides_of(1, 4, 5, 1, (8, 8), torch.float32)._replace(bias=bias.expand(3, 2, 4, 5))
    read, log_sum = made.read(sides)
    assert (log_sum[1] == -torch.inf).all()
    for one in (read, *made.read_back(sides, log_sum, torch.ones_like(read))):
        assert not one[1].any()
        assert one[0].any()


@pytest.mark.parametrize(("queries", "keys", "width"), [(0, 3, 4), (3, 0, 4), (2, 2, 0)])
def test_what_is_empty_is_read(made: TrainingKernels, queries: int, keys: int, width: int) -> None:
    sides = sides_of(1, queries, keys, 1, (width, 4), torch.float32)
    read, log_sum = made.read(sides)
    by_query, by_key, by_value = made.read_back(sides, log_sum, torch.ones_like(read))
    assert (read.shape, by_query.shape, by_key.shape) == ((3, 2, queries, 4), sides.query.shape, sides.key.shape)
    assert by_value.isfinite().all()
    none = Sides(*(side[:0] for side in sides[:3]), None, 1.0)
    assert made.read(none)[0].shape == (0, 2, queries, 4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_sentence_depends_neither_on_the_others_nor_on_padding(made: TrainingKernels, kind: torch.dtype) -> None:
    sides, bias = sides_of(1, 21, 21, 1, (32, 32), kind), torch.zeros(3, 1, 1, 21)
    bias[..., 13:] = -torch.inf
    gradient = drawn(9, 3, 2, 21, 32).to(kind)
    gradient[:, :, 13:] = 0
    padded = sides._replace(bias=bias.expand(3, 2, 21, 21))
    alone = Sides(*(side[1:2, :, :13] for side in sides[:3]), None, sides.scale)
    read, log_sum = made.read(padded)
    own, own_sum = made.read(alone)
    assert torch.equal(read[1:2, :, :13], own)
    together = made.read_back(padded, log_sum, gradient)
    apart = made.read_back(alone, own_sum, gradient[1:2, :, :13])
    for one, other in zip(together, apart, strict=True):
        assert torch.equal(one[1:2, :, :13], other)


def test_what_is_no_number_stays_none(made: TrainingKernels) -> None:
    sides = sides_of(1, 3, 4, 1, (8, 8), torch.float32)
    sides.key[1, 0, 2, 3] = torch.nan
    read, log_sum = made.read(sides)
    assert read.isnan().flatten(2).all(2).tolist() == [[False, False], [True, False], [False, False]]
    assert log_sum.isnan().any()
    assert read[0].isfinite().all()
    logits = torch.zeros(2, 50)
    logits[1, 30] = torch.nan
    log_sum, _ = made.loss_and_slopes(logits, None, torch.tensor([1, 1]), 1.0, None, learning=True)
    assert log_sum.isnan().tolist() == [False, True]
    assert logits.isnan().all(1).tolist() == [False, True]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 500])
@pytest.mark.parametrize("dropped", [1, 77, 255])
def test_dropout_has_the_bits_of_torch(made: TrainingKernels, kind: torch.dtype, count: int, dropped: int) -> None:
    x, random = drawn(count, count, 3).to(kind).T, (torch.arange(3 * count) * 37).to(torch.uint8).view(3, count)
    scale = 256 / (256 - dropped)
    found, wanted = made.drop(x, random, dropped, scale), (x * (random >= dropped)).mul_(scale)
    assert torch.equal(found, wanted)
    assert torch.equal(found.signbit(), wanted.signbit())


def test_dropout_keeps_what_is_no_number(made: TrainingKernels) -> None:
    for bits in (0x7FC0, 0x7FFF, 0x7F81):
        x = torch.full((40,), bits, dtype=torch.int16).view(torch.bfloat16)
        assert made.drop(x, torch.full((40,), 255, dtype=torch.uint8), 1, 1.5).isnan().all()


@pytest.mark.usefixtures("_one_thread")
def test_they_take_plain_tensors_in_one_thread() -> None:
    class Odd(Tensor):
        pass

    x = torch.zeros(3)
    assert takes(x, None, torch.nn.Parameter(x.bfloat16()))
    assert not takes(x, x.double())
    assert not takes(x.to("meta"))
    assert not takes(x.as_subclass(Odd))
    assert not takes(torch.eye(3).to_sparse())
    assert not takes(torch.zeros(3, dtype=torch.complex64).conj().imag)
    torch.set_num_threads(2)
    assert not takes(x)
    assert are_plain(x)


def test_they_leave_to_torch_what_has_to_see_its_functions() -> None:
    seen: list[bool] = []

    def watched(x: Tensor) -> Tensor:
        seen.append(are_plain(x))
        return x * 2

    torch.func.vmap(watched)(torch.zeros(2, 3))
    torch.func.grad(lambda x: watched(x).sum())(torch.zeros(3))
    torch.jit.trace(watched, torch.zeros(3), check_trace=False)
    torch.compile(watched, backend="eager")(torch.zeros(3))
    with forward_ad.dual_level():
        watched(torch.zeros(3))
    assert seen
    assert not any(seen)


def test_without_kernels_for_decoding_or_where_they_are_wrong_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kernels", "training_works"):
        with monkeypatch.context() as change:
            change.setattr(training, name, lambda *_: None)
            assert training_kernels.__wrapped__() is None
    found = training_kernels()
    assert found is None or training_works(found)


def test_they_are_tried_in_float32_wherever_they_are_first_asked_for(made: TrainingKernels) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        assert training_works(made)
        assert works(Kernels(made.kind))


def test_rows_in_one_piece() -> None:
    x = torch.zeros(2, 3, 4)
    assert in_rows(x) is x
    assert in_rows(x.mT).stride() == (12, 3, 1)
    assert in_rows(torch.zeros(1).expand(2, 5)).stride(-1) == 1
