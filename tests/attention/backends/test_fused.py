from typing import Any

import pytest
import torch
import torch.nn.functional as F

from regard.attention.backends import fused
from regard.attention.backends.fused import Fused
from regard.attention.call import Call
from regard.attention.core import define
from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.normalizers.softmax import Softmax
from regard.attention.normalizers.sparsemax import Sparsemax
from regard.attention.part import Sizes
from regard.attention.positions.alibi import Alibi
from regard.attention.positions.shaw import Shaw
from regard.attention.scores.additive import Additive
from regard.attention.scores.distance import Distance
from regard.attention.scores.scaled_dot import ScaledDot

SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4)


def call(queries: int = 5, keys: int = 5, **parts: Any) -> Call:
    query = torch.randn(1, 2, queries, 4)
    key, value = torch.randn(1, 2, keys, 4), torch.randn(1, 2, keys, 4)
    return Call(query, key, value, **({"score": ScaledDot(), "normalizer": Softmax()} | parts))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the kernel is asked."""
    found: list[dict[str, Any]] = []
    kernel = F.scaled_dot_product_attention

    def watch(*sides: Any, **settings: Any) -> Any:
        found.append(settings)
        return kernel(*sides, **settings)

    monkeypatch.setattr(fused.F, "scaled_dot_product_attention", watch)
    return found


def test_the_kernels_own_causal_mask_is_used_where_it_is_right(asked: list[dict[str, Any]]) -> None:
    Fused()(call(keep=Causal()))
    assert asked[0]["is_causal"]
    assert asked[0]["attn_mask"] is None
    Fused()(call(mask=Causal(), keep=Causal()))
    assert asked.pop()["is_causal"]
    Fused()(call(keep=Causal(), queries=3))
    Fused()(call(keep=Causal(), query_at=torch.arange(5)))
    Fused()(call(mask=Causal(), keep=torch.ones(5, dtype=torch.bool)))
    Fused()(call(keep=Causal() & Window(2)))
    Fused()(call(keep=Causal(), bias=torch.zeros(5, 5)))
    assert not any(settings["is_causal"] for settings in asked[1:])
    assert all(settings["attn_mask"].dim() == 4 for settings in asked[1:])


@pytest.mark.parametrize(("queries", "keys"), [(3, 6), (6, 3)])
def test_causal_with_other_lengths_goes_by_positions(queries: int, keys: int) -> None:
    one = call(queries, keys, keep=Causal())
    torch.testing.assert_close(Fused()(one).output, define(one).output)


def test_refuses_what_the_kernel_does_not_compute() -> None:
    assert Fused().refusal(call()) is None
    assert Fused().refusal(call(score=Distance())) is None
    reasons = {
        "Sparsemax is not the softmax that the kernel computes": {"normalizer": Sparsemax()},
        "AdditiveWeights is not a dot product of a function of each side": {"score": Additive().build(SIZES)},
        "DistanceVectors reads the weights, which the kernel does not give": {"bias": Shaw().build(SIZES)},
    }
    for reason, parts in reasons.items():
        assert Fused().refusal(call(**parts)) == reason


def test_hesitates_before_masks_that_would_fill_the_memory() -> None:
    small = Fused(mask_bytes=5 * 5 * 4)
    assert small.hesitation(call(keep=Window(2))) is None
    tight = Fused(mask_bytes=5 * 5 * 4 - 1)
    assert tight.hesitation(call(keep=Window(2))) == "its mask and bias would take 0 MiB"
    assert small.hesitation(call(bias=Alibi().build(SIZES))) is not None
    assert tight.hesitation(call(keep=Causal())) is None
    assert tight.hesitation(call(keep=torch.ones(5, 5, dtype=torch.bool))) is None


def test_a_bias_that_learns_is_not_given_to_a_kernel_without_its_gradient(asked: list[dict[str, Any]]) -> None:
    bias = torch.randn(2, 5, 5, requires_grad=True)
    keep = torch.rand(1, 1, 5, 5) > 0.5
    for parts in ({}, {"keep": keep}, {"mask": Causal()}):
        given = call(bias=bias, **parts)
        learning = Fused()(given).output
        assert not asked
        torch.testing.assert_close(learning, define(given).output)
        with torch.no_grad():
            torch.testing.assert_close(Fused()(given).output, learning)
        assert len(asked) == 1
        asked.clear()
    Fused()(call(bias=bias, dropout=0.5))
    assert len(asked) == 1


@pytest.mark.parametrize("parts", [{}, {"mask": Causal()}, {"bias": torch.randn(2, 5, 5, requires_grad=True)}])
def test_on_a_cpu_mixed_precision_leaves_it_in_float32(parts: dict[str, Any]) -> None:
    given = call(**parts)
    short = Call(
        *(side.bfloat16() for side in (given.query, given.key, given.value)),
        score=given.score,
        normalizer=given.normalizer,
        mask=given.mask,
        bias=given.bias,
    )
    with torch.autocast("cpu", torch.bfloat16):
        output = Fused()(short).output
    assert output.dtype == torch.float32
    assert torch.equal(output, Fused()(short.in_float32()).output)
