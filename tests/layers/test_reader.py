import pytest
import torch
from torch import Tensor

from regard.attention.masks.causal import Causal
from regard.attention.record import record
from regard.attention.score import SCORES
from regard.base.errors import CombinationError, ConfigError
from regard.layers.reader import Joining, SingleHead

X = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
SOURCE = torch.randn(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
KEEP = torch.arange(5) < torch.tensor([[5], [2]])


def dot_attention(query: Tensor, key: Tensor, value: Tensor, keep: Tensor) -> Tensor:
    logits = torch.einsum("bqd,bkd->bqk", query, key).masked_fill(~keep[:, None], float("-inf"))
    return logits.softmax(-1) @ value


def test_the_simple_attention() -> None:
    reader = SingleHead().build(4, 4)
    assert not list(reader.parameters())
    expected = dot_attention(X, SOURCE, SOURCE, KEEP)
    torch.testing.assert_close(reader(X, SOURCE, keep=KEEP[:, None, None]), expected)
    torch.testing.assert_close(reader.read(X, reader.remember(SOURCE, KEEP)), expected)


def test_the_parameterized_attention() -> None:
    reader = SingleHead(width=6).build(4, 4).double()
    query, key, value = (reader.projections[name].weight for name in ("query", "key", "value"))
    expected = dot_attention(X @ query.T, SOURCE @ key.T, SOURCE @ value.T, KEEP)
    torch.testing.assert_close(reader.read(X, reader.remember(SOURCE, KEEP)), expected)
    assert reader.value_width == 6


@pytest.mark.parametrize("width", [6, None])
def test_small_networks_make_contexts(width: int | None) -> None:
    reader = SingleHead(width=width, hidden=3).build(4, 4).double()
    assert reader.value_width == (width or 3)

    def made(name: str, x: Tensor) -> Tensor:
        first, second = reader.projections[name].layers
        return torch.tanh(x @ first.weight.T + first.bias) @ second.weight.T + second.bias

    expected = dot_attention(made("query", X), made("key", SOURCE), made("value", SOURCE), KEEP)
    torch.testing.assert_close(reader.read(X, reader.remember(SOURCE, KEEP)), expected)
    torch.testing.assert_close(reader(X, SOURCE, keep=KEEP[:, None, None]), expected)
    with pytest.raises(ConfigError, match="attention: hidden must be at least 1, but is 0"):
        SingleHead(hidden=0)


def test_the_additive_attention() -> None:
    reader = SingleHead(score="additive(hidden=7)").build(4, 4).double()
    score = reader.reading.score
    together = (X @ score.query_weight[0])[:, :, None] + (SOURCE @ score.key_weight[0])[:, None]
    weights = (together.tanh() @ score.readout[0]).masked_fill(~KEEP[:, None], float("-inf")).softmax(-1)
    torch.testing.assert_close(reader(X, SOURCE, keep=KEEP[:, None, None]), weights @ SOURCE)


@pytest.mark.parametrize("score", SCORES.names)
def test_remembering_is_reading_at_once_with_every_score(score: str) -> None:
    reader = SingleHead(score=score, width=8).build(4, 4).double()
    at_once = reader(X, SOURCE, keep=KEEP[:, None, None])
    torch.testing.assert_close(reader.read(X, reader.remember(SOURCE, KEEP)), at_once)
    memory = reader.remember(SOURCE[:, 2:], KEEP[:, 2:], reader.remember(SOURCE[:, :2], KEEP[:, :2]))
    torch.testing.assert_close(reader.read(X, memory), at_once)


def test_an_empty_memory_gives_zeros() -> None:
    reader = SingleHead(width=6).build(4, 4).double()
    assert torch.equal(reader.read(X, reader.start()), torch.zeros(2, 3, 6, dtype=torch.float64))


def test_masks_on_pairs() -> None:
    reader = SingleHead().build(4, 4)
    at = torch.arange(3)
    read = reader(X, X, keep=Causal(), at=at - 1, source_at=at)
    assert not read[:, 0].any()
    torch.testing.assert_close(read[:, 1], X[:, 0])


def test_its_weights_can_be_recorded() -> None:
    reader = SingleHead().build(4, 4)
    with record(reader) as seen:
        reader.read(X, reader.remember(SOURCE, KEEP))
    torch.testing.assert_close(seen.only().sum(-1), torch.ones(2, 1, 3, dtype=torch.float64))
    assert not seen.only()[1, :, :, 2:].any()


def test_scores_of_one_width_say_so() -> None:
    with pytest.raises(ConfigError, match=r"attention.score: Dot compares .* queries have 4 and the keys 6; set"):
        SingleHead().build(4, 6)
    assert SingleHead(score="bilinear").build(4, 6).value_width == 6
    assert SingleHead(width=8).build(4, 6).value_width == 8


def test_faults_are_named() -> None:
    with pytest.raises(ConfigError, match=r"attention\.score: unknown 'dott'"):
        SingleHead(score="dott")
    with pytest.raises(ConfigError, match="attention: dropout must be"):
        SingleHead(dropout=1.0)


def test_joining() -> None:
    state, read = torch.randn(2, 4), torch.randn(2, 6)
    side = Joining(4, 6, "concatenate")
    assert side.width == 10
    assert torch.equal(side(state, read), torch.cat([state, read], dim=-1))
    mixed = Joining(4, 6, "tanh")
    assert mixed.width == 4
    assert mixed.map is not None
    expected = (state @ mixed.map.weight[:, :4].T + read @ mixed.map.weight[:, 4:].T).tanh()
    torch.testing.assert_close(mixed(state, read), expected)


def test_weights_are_those_that_are_read_with() -> None:
    reader = SingleHead(score="additive(hidden=7)", dropout=0.5).build(4, 4).double()
    memory = reader.remember(SOURCE, KEEP)
    weights = reader.weights(X, memory)
    torch.testing.assert_close(weights @ SOURCE, reader.eval().read(X, memory))
    with pytest.raises(CombinationError, match="nothing was written yet"):
        reader.weights(X, reader.start())
