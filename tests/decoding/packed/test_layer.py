"""A layer that steps gives the numbers of its block; whole models are compared in test_packed.py."""

import pytest
import torch
from torch import nn

from regard.base.errors import UsageError
from regard.decoding.packed.layer import PackedLayer, attend_packed, normalization, product
from regard.layers.inference.prepacked import Prepacked
from regard.models.transformer import Transformer


@torch.inference_mode()
def test_attend_is_the_formula() -> None:
    query, key, value = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5), torch.randn(2, 3, 6, 5)
    bias = torch.zeros(2, 1, 1, 6)
    bias[1, ..., 4:] = -torch.inf
    scores = torch.einsum("shqw,shkw->shqk", query.double(), key.double()) * 0.3 + bias
    expected = torch.einsum("shqk,shkw->sqhw", scores.softmax(-1), value.double()).reshape(8, 15)
    torch.testing.assert_close(attend_packed(query, key, value, bias, 0.3).double(), expected, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_an_encoder_layer_is_its_block() -> None:
    model = (
        Transformer(encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=24)
        .build({"source": 30, "target": 30})
        .eval()
    )
    block, x = model.encoder.blocks[0], torch.randn(2, 5, 16)
    layer = PackedLayer(block)
    made = layer.feed(layer.read_all(x.flatten(0, 1), torch.zeros(2, 1, 1, 5)))
    torch.testing.assert_close(made.view(2, 5, 16), block(x), atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_products_and_norms_are_those_of_their_modules() -> None:
    x, plain, norm = torch.randn(3, 4), nn.Linear(4, 5), nn.LayerNorm(4)
    nn.init.normal_(norm.weight)
    for made, module in ((product(plain), plain), (product(Prepacked(plain)), plain), (normalization(norm), norm)):
        torch.testing.assert_close(made(x), module(x))
    assert normalization(nn.Identity())(x) is x


def test_another_norm_is_not_taken_for_one() -> None:
    with pytest.raises(UsageError, match="packed: a LayerNorm or RMSNorm can be computed, but this is a GroupNorm"):
        normalization(nn.GroupNorm(1, 4))
