from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from regard.attention.core import attend
from regard.attention.normalizer import NORMALIZERS
from regard.attention.score import SCORES
from regard.attention.soft_dict import SoftDict
from regard.base.errors import ConfigError, ShapeError, UsageError
from regard.layers.perceptron import Perceptron

KEYS = st.tuples(st.integers(-3, 3), st.integers(-2, 2))
VALUES = st.integers(-1000, 1000)
OPERATIONS = st.one_of(
    st.tuples(st.just("set"), KEYS, VALUES),
    st.tuples(st.just("get"), KEYS, st.none()),
    st.tuples(st.just("delete"), KEYS, st.none()),
    st.tuples(st.just("pop"), KEYS, st.none()),
    st.tuples(st.just("setdefault"), KEYS, VALUES),
    st.tuples(st.just("update"), KEYS, VALUES),
    st.tuples(st.just("clear"), st.none(), st.none()),
)


def perform(mapping: Any, name: str, key: Any, value: Any) -> Any:
    """One operation; what it gave, or the name of the error."""
    try:
        if name == "set":
            mapping[key] = value
            return None
        if name == "get":
            return mapping[key]
        if name == "delete":
            del mapping[key]
            return None
        if name == "update":
            mapping.update({key: value, (9, 9): value + 1})
            return None
        return (
            mapping.clear() if name == "clear" else getattr(mapping, name)(*([key] if value is None else [key, value]))
        )
    except KeyError:
        return "KeyError"


def plain(result: Any) -> Any:
    return result.item() if isinstance(result, torch.Tensor) else result


@settings(max_examples=60, deadline=None)
@given(st.lists(OPERATIONS, max_size=25), st.booleans())
def test_with_a_hard_normalizer_it_is_a_python_dict(operations: list[Any], projected: bool) -> None:
    soft, exact = SoftDict(2, 1, normalizer="hard", projected=projected), {}
    for operation in operations:
        assert plain(perform(soft, *operation)) == perform(exact, *operation)
        assert len(soft) == len(exact)
        assert [tuple(key.int().tolist()) for key in soft] == list(exact)
        assert [value.item() for value in soft.values()] == list(exact.values())
        for key in [*exact, (7, 7)]:
            assert (key in soft) == (key in exact)


@pytest.mark.parametrize("normalizer", ["softmax", "sparsemax"])
def test_a_soft_look_up_is_the_formula(normalizer: str) -> None:
    soft = SoftDict(3, 2, normalizer=normalizer, score=SCORES.Distance(0.8))
    keys, values, query = torch.randn(5, 3), torch.randn(5, 2), torch.randn(3)
    soft.write(keys, values)
    logits = -(keys - query).square().sum(-1) / (2 * 0.8**2)
    weights = NORMALIZERS.make(normalizer)(logits[None])
    torch.testing.assert_close(soft[query], (weights @ values)[0])


def test_gaussian_look_up_in_numpy() -> None:
    soft = SoftDict(1, 1)
    for key, value in ((0.0, 10.0), (1.0, 20.0), (4.0, -3.0)):
        soft[key] = value
    powers = np.exp(-((0.25 - np.array([0.0, 1.0, 4.0])) ** 2) / 2)
    np.testing.assert_allclose(soft[0.25].item(), powers @ [10.0, 20.0, -3.0] / powers.sum(), rtol=1e-5)


def test_looking_up_many_gives_the_weights_too() -> None:
    soft = SoftDict(3, 2)
    soft.write(torch.randn(5, 3), torch.randn(5, 2))
    found = soft.look_up(torch.randn(4, 3))
    assert found.output.shape == (4, 2)
    assert found.weights.shape == (4, 5)
    torch.testing.assert_close(found.weights @ soft.values_written, found.output)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(4))


def test_is_the_one_attention() -> None:
    soft = SoftDict(3, 2, score="scaled_dot", projected=True)
    keys, values, queries = torch.randn(5, 3), torch.randn(5, 2), torch.randn(4, 3)
    soft.write(keys, values)
    with torch.no_grad():
        for projection in soft.projections.values():
            projection.weight.normal_()
    maps = {name: projection.weight.mT for name, projection in soft.projections.items()}
    sides = (queries @ maps["query"], keys @ maps["key"], values @ maps["value"])
    expected = attend(*(side[None, None] for side in sides), score=SCORES.ScaledDot(), normalizer=NORMALIZERS.Softmax())
    torch.testing.assert_close(soft.look_up(queries).output, expected.output[0, 0])


def test_projections_start_as_the_identity() -> None:
    bare, projected = SoftDict(3, 2), SoftDict(3, 2, projected=True)
    keys, values, queries = torch.randn(5, 3), torch.randn(5, 2), torch.randn(4, 3)
    bare.write(keys, values)
    projected.write(keys, values)
    torch.testing.assert_close(projected.look_up(queries).output, bare.look_up(queries).output)
    assert {name for name, _ in projected.named_parameters()} == {
        f"projections.{name}.weight" for name in ("query", "key", "value")
    }
    assert not list(bare.parameters())


def test_gradients_reach_query_keys_values_and_projections() -> None:
    soft = SoftDict(3, 2, projected=True)
    keys, values = torch.randn(5, 3, requires_grad=True), torch.randn(5, 2, requires_grad=True)
    query = torch.randn(3, requires_grad=True)
    soft.write(keys, values)
    soft[query].square().sum().backward()
    for tensor in (keys, values, query, *soft.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.any()


def test_a_value_that_is_written_again_takes_the_gradient() -> None:
    soft = SoftDict(1, 1, normalizer="hard")
    old, new = torch.tensor([1.0], requires_grad=True), torch.tensor([2.0], requires_grad=True)
    soft[3] = old
    soft[3] = new
    soft[3].sum().backward()
    assert new.grad.item() == 1
    assert old.grad is None or old.grad.item() == 0


def test_it_learns_what_to_attend_to() -> None:
    """Only the first dimension of a key matters; the projections find out."""
    soft = SoftDict(2, 1, projected=True)
    keys = torch.rand(64, 2) * 4
    soft.write(keys, keys[:, :1].sin())
    optimizer = torch.optim.Adam(soft.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        queries = torch.rand(32, 2) * 4
        loss = (soft.look_up(queries).output - queries[:, :1].sin()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.25 * losses[0]


def test_writing_a_pair_twice_counts_twice() -> None:
    soft = SoftDict(1, 1)
    soft.write(torch.tensor([[1.0], [1.0], [1.0]]), torch.tensor([[0.0], [0.0], [3.0]]))
    assert soft[1.0].item() == pytest.approx(1.0)
    assert len(soft) == 3


def test_what_is_missing_is_a_key_error_where_one_key_is_picked() -> None:
    soft = SoftDict(1, 1, normalizer="hard")
    with pytest.raises(KeyError):
        soft[1]
    soft[1] = 5
    with pytest.raises(KeyError):
        soft[2]
    assert soft.get(2, "none") == "none"
    assert "one" not in soft
    assert (1, 2, 3) not in soft


def test_wrong_use_is_told() -> None:
    soft = SoftDict(3, 2)
    with pytest.raises(UsageError, match="soft_dict: nothing was written yet, so there is nothing to look up"):
        soft.look_up(torch.randn(1, 3))
    with pytest.raises(ShapeError, match=r"soft_dict: a key must be a vector of width 3, but is \[2\]"):
        soft[[1, 2]] = [1, 2]
    with pytest.raises(ShapeError, match=r"soft_dict: a value must be a vector of width 2, but is \[1\]"):
        soft[[1, 2, 3]] = 4
    with pytest.raises(
        ShapeError, match=r"write takes keys \[pairs, 3\] and values \[pairs, 2\], but got \[4, 3\] and \[4, 3\]"
    ):
        soft.write(torch.randn(4, 3), torch.randn(4, 3))
    with pytest.raises(ConfigError, match=r"soft_dict\.normalizer: unknown 'hrd' \(did you mean 'hard'\?\)"):
        SoftDict(3, normalizer="hrd")


def test_it_prints_what_it_is() -> None:
    soft = SoftDict(3, 2, normalizer="hard")
    soft[[1, 2, 3]] = [1, 2]
    assert "1 pairs, width=3, value_width=2, Hard()" in repr(soft)


def test_with_a_hard_normalizer_a_key_reads_what_was_last_written_for_it_whatever_the_score() -> None:
    soft = SoftDict(1, 1, score="dot", normalizer="hard")
    soft[1] = 5.0
    soft[3] = 7.0  # for a dot product a better match for 1 than 1 itself
    assert soft[1].item() == 5.0
    soft.write(torch.tensor([[1.0]]), torch.tensor([[9.0]]))
    assert soft[1].item() == 9.0


def test_what_was_written_is_saved_and_moved_with_the_module() -> None:
    soft = SoftDict(2, 1)
    soft.write(torch.randn(3, 2), torch.randn(3, 1))
    other = SoftDict(2, 1)
    other.load_state_dict(soft.state_dict())
    assert len(other) == 3
    assert torch.equal(other[[0.5, 0.5]], soft[[0.5, 0.5]])
    assert other.double()[[0.5, 0.5]].dtype == torch.float64


def test_a_network_makes_contexts_of_queries_and_keys() -> None:
    """Against the formula in float64, and learned: gradients reach the network through both."""
    torch.manual_seed(2)
    network = Perceptron(3, 5, 4, activation="tanh").double()
    soft = SoftDict(3, 2, score="dot", context=network, projected=True).double()
    keys, values, query = (torch.randn(6, size, dtype=torch.float64) for size in (3, 2, 3))
    soft.write(keys, values)
    first, second = network.layers
    contexts = [
        torch.tanh(rows @ first.weight.T + first.bias) @ second.weight.T + second.bias for rows in (query, keys)
    ]
    expected = (contexts[0] @ contexts[1].T).softmax(-1) @ values
    found = soft.look_up(query)
    torch.testing.assert_close(found.output, expected, rtol=1e-12, atol=1e-12)
    found.output.sum().backward()
    assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in network.parameters())
    assert {f"context.{name}" for name in network.state_dict()} < set(soft.state_dict())


def test_with_a_hard_normalizer_contexts_leave_exact_keys_alone() -> None:
    soft = SoftDict(2, 1, normalizer="hard", context=Perceptron(2, 3, 3))
    soft[[1, 2]] = 5.0
    assert soft[[1, 2]].item() == 5.0
    with pytest.raises(ShapeError, match=r"the context of a row must be a row, but of \[1, 2\] it is \[2\]"):
        SoftDict(2, context=nn.Flatten(0))
