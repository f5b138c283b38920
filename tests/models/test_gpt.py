from typing import Any

import pytest
import torch
from torch import nn

from regard.attention.record import attention_layers
from regard.base.errors import ShapeError
from regard.models.gpt import Gpt
from tests.laws import writers

SMALL: dict[str, Any] = {"layers": 2, "width": 16, "heads": 2, "positions": "learned(12)", "dropout": 0.0}


def test_against_torch() -> None:
    model = Gpt(**SMALL, activation="gelu").build({"text": writers.VOCABULARY}).double().eval()
    for weight in model.parameters():
        weight.data += torch.randn_like(weight) * 0.1
    layer = nn.TransformerEncoderLayer(
        16, 2, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True, dtype=torch.float64
    )
    theirs = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16, dtype=torch.float64), enable_nested_tensor=False)
    theirs.norm.load_state_dict(model.decoder.norm.state_dict())
    for ours, its in zip(model.decoder.blocks, theirs.layers, strict=True):
        its.self_attn.in_proj_weight.data = ours.self_attention.projections.joint.weight.data
        its.self_attn.in_proj_bias.data = ours.self_attention.projections.joint.bias.data
        its.self_attn.out_proj.load_state_dict(ours.self_attention.output.state_dict())
        its.linear1.load_state_dict(ours.feedforward.inner.state_dict())
        its.linear2.load_state_dict(ours.feedforward.outer.state_dict())
        its.norm1.load_state_dict(ours.norms["self_attention"].state_dict())
        its.norm2.load_state_dict(ours.norms["feedforward"].state_dict())
    length = writers.TARGET.shape[1]
    x = model.target.table.weight[writers.TARGET] + model.target.positions.weight[:length]
    expected = theirs(x, mask=torch.ones(length, length, dtype=torch.bool).triu(1))
    got = model.hidden(None, None, writers.TARGET)
    torch.testing.assert_close(got, expected, atol=1e-10, rtol=1e-10)


def test_the_size_of_gpt2_small() -> None:
    with torch.device("meta"):
        model = Gpt.preset("small").build({"text": 50_257})
    assert sum(weight.numel() for weight in model.parameters()) == 124_439_808


def test_fresh_weights_are_those_of_gpt2() -> None:
    model = Gpt(layers=8, width=128, heads=4).build({"text": 1000})
    block = model.decoder.blocks[0]
    assert block.feedforward.inner.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.feedforward.outer.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert block.self_attention.output.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert model.output.weight.std().item() == pytest.approx(0.02, rel=0.05)


def test_positions_past_the_last_are_refused() -> None:
    model = Gpt(**SMALL).build({"text": writers.VOCABULARY})
    with pytest.raises(ShapeError, match=r"only 0 … 11 were learned"):
        model.hidden(None, None, torch.full((1, 13), 5))


def test_names_and_cost() -> None:
    design = Gpt(**SMALL)
    names = ["decoder.layers.0.self_attention", "decoder.layers.1.self_attention"]
    assert sorted(attention_layers(design.build({"text": 20}))) == names
    weights = 2 * (4 * 16 * 16 + 2 * 16 * 64) + 16 * 20
    assert design.training_flops(0, 100, {"text": 20}, length=10) == 6 * 100 * (weights + 2 * 16 * 10)
