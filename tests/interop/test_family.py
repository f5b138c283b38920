import pytest
import torch

from regard.base.errors import RegardError
from regard.interop.family import FAMILIES, Entry, activation_here, affine


def test_a_file_is_a_family() -> None:
    assert {"bert", "distilbert", "gpt2", "roberta"} <= set(FAMILIES.names)
    assert all(FAMILIES.make(name).type() == name for name in FAMILIES.names)


@pytest.mark.parametrize(
    "entry",
    [
        Entry("x", ("a",)),
        Entry("x", ("a", "b", "c")),
        Entry("x", ("a",), turned=True),
        Entry("x", ("a", "b"), split=(1, 3)),
        Entry("x", ("a",), skipped=2),
        Entry("x", ("a",), vocabulary=True, missing=-9.0),
    ],
)
def test_written_and_read_a_tensor_is_the_same(entry: Entry) -> None:
    order = {entry.side: [None, 2, 0, 1]}
    rows = 4 if entry.vocabulary or entry.split else 6
    tensor = torch.randn(rows, 5)
    if entry.vocabulary:
        tensor[0] = -9.0
    there = entry.write(tensor, order)
    assert list(there) == list(entry.theirs)
    assert torch.equal(entry.read(there, order, "here"), tensor)


def test_rows_of_the_vocabulary_are_those_of_their_order() -> None:
    entry = Entry("x", ("a",), vocabulary=True)
    made = entry.read({"a": torch.arange(3.0)}, {entry.side: [None, 2, 0, 1]}, "here")
    assert made.tolist() == [0, 2, 0, 1]


def test_a_bias_is_not_transposed() -> None:
    weight, bias = affine("x", "a", turned=True)
    assert (weight.turned, bias.turned) == (True, False)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(RegardError, match="here: has no tensor 'b', which the model needs"):
        Entry("x", ("a", "b")).read({"a": torch.ones(1)}, [], "here")
    assert activation_here("gelu_new", "hidden_act") == "gelu_tanh"
    with pytest.raises(RegardError, match="hidden_act: activation: unknown 'mish'"):
        activation_here("mish", "hidden_act")
