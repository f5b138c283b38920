import re
from inspect import signature
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.call import Call, arguments_of, spread
from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.attention.normalizers.ratio import Ratio
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.positions.alibi import Alibi
from regard.attention.positions.rotary import Rotary
from regard.attention.scores.bilinear import Bilinear
from regard.attention.scores.dot import Dot
from regard.attention.scores.kernel import Kernel
from regard.base.errors import CombinationError, ShapeError


def call(query: Tensor | None = None, key: Tensor | None = None, value: Tensor | None = None, **parts: Any) -> Call:
    """Batch 2, 4 heads over 2 key heads, 3 queries, 5 keys, width 4, values of width 6, and what is said else."""
    query = torch.randn(2, 4, 3, 4) if query is None else query
    key = torch.randn(2, 2, 5, 4) if key is None else key
    value = torch.randn(2, 2, 5, 6) if value is None else value
    return Call(query, key, value, **({"score": Dot(), "normalizer": Softmax()} | parts))


def says(sentence: str) -> str:
    return f"^{re.escape(sentence)}$"


def test_positions_count_from_zero_unless_given() -> None:
    plain = call()
    assert [at.tolist() for at in plain.places] == [[0, 1, 2], [0, 1, 2, 3, 4]]
    assert plain.in_order
    assert not call(query_at=torch.arange(3)).in_order


def test_sizes() -> None:
    assert call().groups == 2


def test_heads_are_spread_in_groups() -> None:
    key = torch.arange(2.0).view(1, 2, 1, 1)
    assert spread(key, 2).flatten().tolist() == [0.0, 0.0, 1.0, 1.0]
    assert spread(key, 1) is key


@pytest.mark.parametrize(
    ("sides", "sentence"),
    [
        ({"query": torch.randn(3, 4)}, "attend: query must be [batch, heads, length, width], but has the shape [3, 4]"),
        (
            {"value": torch.randn(2, 2, 5, 6).double()},
            "attend: value is torch.float64, but query is torch.float32; they must be alike",
        ),
        (
            {"value": torch.randn(2, 2, 4, 6)},
            "attend: key and value must share [batch, heads, length], but have [2, 2, 5] and [2, 2, 4]",
        ),
        ({"query": torch.randn(3, 4, 3, 4)}, "attend: query has a batch of 3, but key has one of 2"),
        (
            {"query": torch.randn(2, 3, 3, 4)},
            "attend: the query's heads (3) must be a multiple of the key's heads (2)",
        ),
        (
            {"query": torch.randn(2, 4, 3, 8)},
            "attend: query has width 8 and key has width 4; Dot needs equal widths",
        ),
        (
            {"keep": torch.ones(3, 6, dtype=torch.bool)},
            "attend: keep has the shape [3, 6], which does not broadcast to [batch, heads, query, key] = [2, 4, 3, 5]",
        ),
        (
            {"keep": torch.ones(3, 5)},
            "attend: keep must be bool, True where a query may look, but is torch.float32; "
            "numbers to be added to the logits are passed as bias",
        ),
        (
            {"bias": torch.ones(3, 3, 5)},
            "attend: bias has the shape [3, 3, 5], "
            "which does not broadcast to [batch, heads, query, key] = [2, 4, 3, 5]",
        ),
        (
            {"bias": torch.ones(1, 1, 1, 3, 5)},
            "attend: bias has the shape [1, 1, 1, 3, 5], "
            "which does not broadcast to [batch, heads, query, key] = [2, 4, 3, 5]",
        ),
        (
            {"key_at": torch.arange(4)},
            "attend: key_at must be a position for each, [5] or [2, 5], but has the shape [4]",
        ),
        (
            {"query_at": torch.zeros(3, 3, dtype=torch.long)},
            "attend: query_at must be a position for each, [3] or [2, 3], but has the shape [3, 3]",
        ),
    ],
)
def test_what_does_not_fit_is_told(unchecked: None, sides: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ShapeError, match=says(sentence)):
        call(**sides)


def test_a_mask_for_another_batch_is_told() -> None:
    wrong = call(keep=Padding(torch.tensor([1, 2, 3])))
    with pytest.raises(
        ShapeError, match=r"attend: keep has the shape \[3, 1, 3, 5\], which does not broadcast to .*2, 4, 3, 5"
    ):
        _ = wrong.keep_tensor


def test_mask_and_keep_must_both_allow() -> None:
    padding = torch.tensor([True, True, False, True, True])
    both = call(mask=Causal(), keep=padding)
    assert both.masks == (Causal(),)
    assert torch.equal(both.keep_tensor, call(keep=Causal()).keep_tensor & padding)
    lengths = Padding(torch.tensor([1, 4]))
    masks = call(mask=Causal() & lengths, keep=Causal())
    assert masks.masks == (Causal(), lengths, Causal())
    assert torch.equal(masks.keep_tensor, call(keep=Causal() & lengths).keep_tensor)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        (
            {"normalizer": Ratio()},
            "attend: Ratio divides by the sum of the logits, so it needs a score that is never negative, "
            "such as Kernel(); Dot can be negative",
        ),
        (
            {"normalizer": Ratio(), "score": Kernel(), "bias": torch.zeros(3, 5)},
            "attend: Ratio does not combine with a bias on the logits, which could make them negative; "
            "place the positions on queries and keys instead",
        ),
        (
            {"bias": Rotary()},
            "attend: Rotary is no bias on the logits: call its place() on queries and keys, "
            "or use Attention(positions=Rotary(…))",
        ),
    ],
)
def test_what_does_not_combine_is_told(unchecked: None, parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(CombinationError, match=says(sentence)):
        call(**parts)


def test_widths_may_differ_where_the_score_brings_them_together() -> None:
    sizes = Sizes(width=8, heads=4, key_heads=2, query_width=8, key_width=4, value_width=6)
    assert call(torch.randn(2, 4, 3, 8), score=Bilinear().build(sizes)).groups == 2


@pytest.mark.parametrize("shape", [(5,), (3, 5), (1, 5), (4, 3, 5), (2, 1, 3, 1)], ids=str)
def test_rows_columns_and_heads_are_cut_out_of_everything(shape: tuple[int, ...]) -> None:
    keep, bias = torch.rand(shape) < 0.5, torch.randn(shape)
    whole = call(keep=keep, bias=bias)
    rows, columns, heads = torch.tensor([2, 0]), torch.tensor([4, 1, 0]), torch.tensor([3, 1])
    full_keep, full_bias = keep.expand(2, 4, 3, 5), bias.expand(2, 4, 3, 5)
    for some, picked in (
        (whole.rows(rows), lambda full: full[:, :, rows]),
        (whole.rows(slice(1, 3)), lambda full: full[:, :, 1:3]),
        (whole.columns(columns), lambda full: full[..., columns]),
        (whole.heads(heads), lambda full: full[:, heads]),
    ):
        wanted = picked(full_keep)
        assert torch.equal(some.keep_tensor.expand_as(wanted), wanted)
        assert torch.equal(some.bias_tensor().expand_as(wanted), picked(full_bias))
    assert torch.equal(whole.rows(rows).query, whole.query[:, :, rows])
    assert torch.equal(whole.columns(columns).value, whole.value[:, :, columns])
    assert torch.equal(whole.heads(heads).key, whole.key[:, [1, 0]])
    assert whole.heads(heads).groups == 1
    assert not whole.rows(rows).in_order


def test_masks_and_biases_are_spelled_out_where_things_stand() -> None:
    bias = Alibi().build(Sizes(width=8, heads=4, key_heads=2, query_width=4, key_width=4, value_width=6))
    query_at, key_at = torch.tensor([3, 1, 9]), torch.arange(5) + 1
    found = call(keep=Causal(), bias=bias, query_at=query_at, key_at=key_at)
    assert found.keep_tensor.tolist() == [[j <= i for j in range(1, 6)] for i in (3, 1, 9)]
    expected = -(query_at[:, None] - key_at).abs() * bias.slopes[:, None, None]
    torch.testing.assert_close(found.bias_tensor(), expected)


def test_a_function_of_a_call_takes_its_arguments() -> None:
    @arguments_of(Call)
    def heads(call: Call) -> int:
        """How many."""
        return call.query.shape[1]

    made = call()
    assert heads(made.query, made.key, made.value, score=Dot(), normalizer=Softmax()) == 4
    assert list(signature(heads).parameters)[:4] == ["query", "key", "value", "score"]
    assert heads.__doc__ == "How many."


def test_in_mixed_precision_all_sides_get_the_wider_type() -> None:
    query, key, value = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4).bfloat16(), torch.randn(1, 2, 5, 4).bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        made = Call(query, key, value, score=Dot(), normalizer=Softmax())
        assert made.key.dtype == made.value.dtype == torch.float32
        short = Call(key, key, value, score=Dot(), normalizer=Softmax())
        assert short.query.dtype == torch.bfloat16
    with pytest.raises(ShapeError, match=r"key is torch\.bfloat16, but query is torch\.float32"):
        Call(query, key, value, score=Dot(), normalizer=Softmax())
