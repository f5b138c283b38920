import numpy as np
import pytest
import torch

from regard.attention.memories.compressed import Compressed
from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.attention.scores.scaled_dot import ScaledDot
from regard.base.errors import ConfigError, ShapeError

READING = Reading(ScaledDot(), Softmax())
SIZES = Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=3)


def test_is_linformers_projection() -> None:
    blend = Compressed(slots=3, length=7).build(SIZES).double()
    key, value = torch.randn(2, 2, 5, 4, dtype=torch.float64), torch.randn(2, 2, 5, 3, dtype=torch.float64)
    query = torch.randn(2, 2, 4, 4, dtype=torch.float64)
    output = blend.start(READING).extend(key, value).read(READING, query, torch.arange(4)).detach().numpy()
    keys = np.einsum("st,bhtd->bhsd", blend.keys.detach().numpy()[:, :5], key.numpy())
    values = np.einsum("st,bhtd->bhsd", blend.values.detach().numpy()[:, :5], value.numpy())
    logits = np.einsum("bhid,bhsd->bhis", query.numpy(), keys) / 2
    weights = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    np.testing.assert_allclose(output, weights @ values, rtol=1e-10, atol=1e-12)


def test_longer_texts_than_it_was_made_for_are_told() -> None:
    memory = Compressed(slots=3, length=7).build(SIZES).start(READING)
    memory = memory.extend(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 3))
    with pytest.raises(ShapeError, match="compressed memory: 8 pairs were written, but it was made for length=7"):
        memory.extend(torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 3))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="compressed: slots must be at least 1, but is 0"):
        Compressed(0, 7)
