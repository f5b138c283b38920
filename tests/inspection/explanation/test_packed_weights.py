"""Weights for a page: all of a short text, the largest of a long one."""

import base64

import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.inspection.explanation.packed_weights import kept, pack_weights
from regard.inspection.explanation.text_part import layer_as_dict, measured_layer


def test_the_largest_weights_of_each_row_come_back() -> None:
    weights = torch.softmax(3 * torch.randn(2, 70, 80, generator=torch.Generator().manual_seed(1)), -1)
    made = pack_weights(weights)
    at = np.frombuffer(base64.b64decode(made["at"]), dtype="<u2").reshape(2, 70, 12).astype(int)
    size = np.frombuffer(base64.b64decode(made["size"]), dtype=np.uint8).reshape(2, 70, 12)
    right = np.sort(weights.numpy(), axis=-1)[:, :, :-13:-1]
    np.testing.assert_allclose(size / 255, right, atol=0.5 / 255 + 1e-6)
    np.testing.assert_allclose(np.take_along_axis(weights.numpy(), at, -1), right)


def test_short_texts_keep_everything_and_endless_ones_are_refused() -> None:
    assert (kept(64), kept(65)) == (64, 12)
    with pytest.raises(UsageError, match="70,000 tokens are too many"):
        pack_weights(torch.zeros(1, 1, 70_000))


def test_a_layer_is_packed_for_a_page_of_a_long_text_alone() -> None:
    long = torch.softmax(torch.randn(2, 70, 70), -1)
    layer = measured_layer("cross", long, long, torch.tensor([0.25, -1.0]))
    small, plain = layer_as_dict(layer, small=True), layer_as_dict(layer)
    assert small["packed"]["rows"] == small["packed"]["columns"] == 70
    assert small["packed"]["moved"] == pack_weights(long)
    assert [head["effect"] for head in small["heads"]] == [0.25, -1.0]
    assert "packed" not in plain and np.shape(plain["heads"][1]["moved"]) == (70, 70)
    short = measured_layer("cross", long[:, :3, :3])
    assert layer_as_dict(short, small=True) == layer_as_dict(short)
    assert "moved" not in layer_as_dict(short)["heads"][0]
