import torch

from regard.attention.core import attend
from regard.attention.masks.causal import Causal
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.positions.alibi import Alibi
from regard.attention.positions.rotary import Rotary
from regard.attention.reading import Reading
from regard.attention.scores.bilinear import Bilinear
from regard.attention.scores.scaled_dot import ScaledDot

SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4)


def sides() -> list[torch.Tensor]:
    return [torch.randn(2, 2, 5, 4) for _ in range(3)]


def test_is_attend_with_its_parts_fixed() -> None:
    bias, tensors = Alibi().build(SIZES), sides()
    reading = Reading(ScaledDot(), Softmax(), bias)
    at = torch.arange(5) + 3
    output = reading(*tensors, Causal(), at, at)
    expected = attend(
        *tensors, score=ScaledDot(), normalizer=Softmax(), keep=Causal(), bias=bias, query_at=at, key_at=at
    )
    torch.testing.assert_close(output, expected.output)


def test_positions_that_are_placed_are_no_bias() -> None:
    assert Reading(ScaledDot(), Softmax(), Rotary()).call(*sides()).bias is None
    assert Reading(ScaledDot(), Softmax()).call(*sides()).bias is None


def test_its_parts_with_weights_are_its_submodules() -> None:
    reading = Reading(Bilinear().build(SIZES), Softmax(), Alibi().build(SIZES))
    assert [name for name, _ in reading.named_parameters()] == ["score.weight"]


def test_dropout_is_for_training() -> None:
    reading, tensors = Reading(ScaledDot(), Softmax(), dropout=0.5), sides()
    assert not torch.equal(reading(*tensors), reading(*tensors))
    reading.eval()
    assert torch.equal(reading(*tensors), reading(*tensors))


def test_explains_the_call_that_it_would_make() -> None:
    tensors = sides()
    assert Reading(ScaledDot(), Softmax()).backend_choice(*tensors, Causal()).chosen == "fused"
    assert Reading(ScaledDot(), Softmax(), backend="plain").backend_choice(*tensors).reasons["plain"] == "asked for"
