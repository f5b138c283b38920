import numpy as np
import pytest
import torch

from regard.attention.memories.latent import Latent
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError

READING = Reading(ScaledDot(), Softmax())
SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=3)


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_learned_queries_gather_what_is_then_read(scale: float) -> None:
    latent = Latent(3).build(SIZES).double()
    key, value = torch.randn(2, 2, 5, 4, dtype=torch.float64) * scale, torch.randn(2, 2, 5, 3, dtype=torch.float64)
    query = torch.randn(2, 2, 4, 4, dtype=torch.float64) / scale
    memory = latent.start(READING)
    for here in (slice(0, 2), slice(2, 5)):
        memory = memory.extend(key[:, :, here], value[:, :, here])
    output = memory.read(READING, query, torch.arange(4)).detach().numpy()
    gather = softmax(np.einsum("hsd,bhtd->bhst", latent.queries.detach().numpy(), key.numpy()) / 2)
    keys, values = gather @ key.numpy(), gather @ value.numpy()
    weights = softmax(np.einsum("bhid,bhsd->bhis", query.numpy(), keys) / 2)
    np.testing.assert_allclose(output, weights @ values, rtol=1e-9, atol=1e-12)


def test_slots_are_as_many_as_asked_for_at_any_length() -> None:
    memory = Latent(3).build(SIZES).start(READING).extend(torch.randn(1, 2, 50, 4), torch.randn(1, 2, 50, 3))
    assert [side.shape for side in memory.blended()] == [(1, 2, 3, 4), (1, 2, 3, 3)]


def test_slots_are_at_least_one() -> None:
    with pytest.raises(ConfigError, match="latent: slots must be at least 1, but is 0"):
        Latent(0)
