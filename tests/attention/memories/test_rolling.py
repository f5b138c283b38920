import pytest
import torch

from regard.attention.memories.rolling import Rolling
from regard.attention.multihead import Attention
from regard.attention.normalizers.softmax import Softmax
from regard.attention.reading import Reading
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError

READING = Reading(ScaledDot(), Softmax())


def test_a_query_sees_the_last_pairs_alone() -> None:
    key, value, query = torch.randn(2, 1, 7, 4), torch.randn(2, 1, 7, 4), torch.randn(2, 1, 1, 4)
    memory = Rolling(3)
    for step in range(7):
        memory = memory.extend(key[:, :, step : step + 1], value[:, :, step : step + 1])
        assert memory.key.shape[2] == min(step + 1, 3)
        assert memory.at.tolist() == list(range(max(0, step - 2), step + 1))
        output = memory.read(READING, query, torch.tensor([step]))
        seen = slice(max(0, step - 2), step + 1)
        torch.testing.assert_close(output, READING(query, key[:, :, seen], value[:, :, seen]))


def test_what_it_holds_stays_small() -> None:
    memory = Rolling(4)
    for length in (1, 9, 3, 20, 1):
        memory = memory.extend(torch.randn(1, 1, length, 2), torch.randn(1, 1, length, 2))
        assert memory.key.shape[2] <= 3 + length
    assert memory.key.shape[2] == 4
    assert memory.length == 34


def test_is_a_window_over_the_whole() -> None:
    layer, x = Attention(heads=2, memory=Rolling(3), mask="causal").build(8), torch.randn(2, 7, 8)
    free = Attention(heads=2, mask="causal & window(3)").build(8)
    free.load_state_dict(layer.state_dict())
    torch.testing.assert_close(layer(x), free(x))


def test_segments_see_the_segment_before() -> None:
    """Transformer-XL: a segment attends to itself and to the states that were kept of the one before."""
    layer = Attention(heads=2, memory=Rolling(4), mask="causal", positions="transformer_xl").build(8)
    x = torch.randn(2, 8, 8)
    _, memory = layer.advance(x[:, :4], layer.start())
    second, _ = layer.advance(x[:, 4:], memory)
    torch.testing.assert_close(second, layer(x)[:, 4:])
    changed = x.clone()
    changed[:, 3] += 1
    assert not torch.allclose(layer(changed)[:, 4], layer(x)[:, 4])


def test_size_is_at_least_one() -> None:
    with pytest.raises(ConfigError, match="rolling: size must be at least 1, but is 0"):
        Rolling(0)
