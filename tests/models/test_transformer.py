from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.position import sinusoid
from regard.attention.record import attention_layers, record
from regard.base.errors import ConfigError, ShapeError
from regard.models.transformer import Transformer, TransformerModel
from tests.laws import writers

SMALL: dict[str, Any] = {
    "encoder_layers": 2, "decoder_layers": 2, "width": 16, "feedforward": 24, "heads": 2, "dropout": 0.0,
}  # fmt: skip
PAPER = {"source": 37_000, "target": 37_000}


def torch_transformer(model: TransformerModel, norm: str) -> nn.Transformer:
    """torch's own, with the same weights."""
    theirs = nn.Transformer(
        16, 2, 2, 2, 24, dropout=0.0, batch_first=True, norm_first=norm == "before", dtype=torch.float64
    )
    if norm == "after":
        theirs.encoder.norm = theirs.decoder.norm = None
    else:
        theirs.encoder.norm.load_state_dict(model.encoder.norm.state_dict())
        theirs.decoder.norm.load_state_dict(model.decoder.norm.state_dict())
    for ours, its in zip(model.encoder.blocks, theirs.encoder.layers, strict=True):
        copy_layer(ours, its, ["self_attention", "feedforward"])
    for ours, its in zip(model.decoder.blocks, theirs.decoder.layers, strict=True):
        copy_layer(ours, its, ["self_attention", "cross", "feedforward"])
        query, source = ours.cross.projections.query, ours.cross.projections.source
        its.multihead_attn.in_proj_weight.data = torch.cat([query.weight, source.weight])
        its.multihead_attn.in_proj_bias.data = torch.cat([query.bias, source.bias])
        its.multihead_attn.out_proj.load_state_dict(ours.cross.output.state_dict())
    return theirs.eval()


def copy_layer(ours: nn.Module, its: nn.Module, norms: list[str]) -> None:
    its.self_attn.in_proj_weight.data = ours.self_attention.projections.joint.weight.data
    its.self_attn.in_proj_bias.data = ours.self_attention.projections.joint.bias.data
    its.self_attn.out_proj.load_state_dict(ours.self_attention.output.state_dict())
    its.linear1.load_state_dict(ours.feedforward.inner.state_dict())
    its.linear2.load_state_dict(ours.feedforward.outer.state_dict())
    for at, name in enumerate(norms):
        getattr(its, f"norm{at + 1}").load_state_dict(ours.norms[name].state_dict())


def shaken(model: nn.Module) -> None:
    """Every weight away from what it starts as."""
    for weight in model.parameters():
        weight.data += torch.randn_like(weight) * 0.1


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", ["before", "after"])
def test_against_torch(norm: str) -> None:
    model = Transformer(**SMALL, norm_place=norm).build(writers.SIZES).double().eval()
    shaken(model)
    theirs = torch_transformer(model, norm)
    table = model.target.table.weight

    def embedded(tokens: Tensor) -> Tensor:
        return table[tokens] * 16**0.5 + sinusoid(torch.arange(tokens.shape[1]), 16)

    length = writers.TARGET.shape[1]
    padding = torch.arange(writers.SOURCE.shape[1]) >= writers.SOURCE_LENGTHS[:, None]
    expected = theirs(
        embedded(writers.SOURCE),
        embedded(writers.TARGET),
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    got = model.hidden(writers.SOURCE, writers.SOURCE_LENGTHS, writers.TARGET)
    torch.testing.assert_close(got, expected, atol=1e-10, rtol=1e-10)
    logits = model(writers.SOURCE, writers.SOURCE_LENGTHS, writers.TARGET)
    torch.testing.assert_close(logits, expected @ table.T, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize(("preset", "published", "within"), [("base", 65e6, 0.03), ("big", 213e6, 0.02)])
def test_published_sizes(preset: str, published: float, within: float) -> None:
    with torch.device("meta"):
        model = Transformer.preset(preset).build(PAPER)
    width = model.output.in_features
    count = sum(weight.numel() for weight in model.parameters())
    block = 4 * (width * width + width) + 2 * width * 4 * width + 5 * width
    cross, norms = 4 * (width * width + width), 2 * width
    assert count == 37_000 * width + 6 * (block + 2 * norms) + 6 * (block + cross + 3 * norms)
    assert count == pytest.approx(published, rel=within)


@pytest.mark.parametrize(("preset", "steps", "published"), [("base", 100_000, 3.3e18), ("big", 300_000, 2.3e19)])
def test_published_training_cost(preset: str, steps: int, published: float) -> None:
    """The paper multiplies hours by the speed that its machines sustain; a third of that is arithmetic of the model."""
    tokens = steps * 25_000
    design = Transformer.preset(preset)
    arithmetic = design.training_flops(tokens, tokens, PAPER)
    assert 0.25 < arithmetic / published < 0.5
    spent = design.training_flops(tokens, tokens, PAPER, utilization=1 / 3)
    assert 0.5 < spent / published < 2


def test_flops_are_counted_from_the_products() -> None:
    design = Transformer(**SMALL, tie="none")
    block, vocabulary, length = 4 * 16 * 16 + 2 * 16 * 24, 20, 5
    source = 2 * block + 2 * 2 * 16 * 16 + 2 * 2 * 16 * length
    target = 2 * (block + 2 * 16 * 16) + 16 * vocabulary + 2 * 3 * 16 * length
    expected = 6 * (1000 * source + 2000 * target)
    assert design.training_flops(1000, 2000, {"source": 30, "target": vocabulary}, length=length) == expected


def test_the_names_of_the_attentions() -> None:
    model = writers.made(Transformer(**SMALL))
    crosses = ["decoder.layers.0.cross", "decoder.layers.1.cross"]
    selves = [f"{side}.layers.{at}.self_attention" for side in ("encoder", "decoder") for at in range(2)]
    assert sorted(attention_layers(model)) == sorted(crosses + selves)
    with record(model, "decoder.*.cross") as seen:
        model(writers.SOURCE, writers.SOURCE_LENGTHS, writers.TARGET)
    assert list(seen) == crosses
    weights = seen[crosses[1]][0]
    assert weights.shape == (3, 2, 5, 6)
    assert not weights[1, :, :, 2:].any()


def test_the_source_is_held_once_a_sentence() -> None:
    model = writers.made(Transformer(**SMALL))
    state = model.start(writers.SOURCE, writers.SOURCE_LENGTHS)
    assert state.spread(5).sources is state.sources
    _, after = model.step(torch.full((15,), 2), state.spread(5))
    assert [memory.key.shape[0] for memory in after.sources] == [3, 3]
    assert [memory.key.shape[0] for memory in after.memories] == [15, 15]
    assert after.length == 1


def test_which_matrices_are_one() -> None:
    for tie, matrices in (("none", 3), ("target", 2), ("all", 1)):
        model = Transformer(**SMALL, tie=tie).build(writers.SIZES)
        found = {model.source.table.weight, model.target.table.weight, model.output.weight}
        assert len(found) == matrices
    with pytest.raises(ConfigError, match=r"transformer.tie: 'all' .* have 20 and 30 entries; use 'target' or 'none'"):
        Transformer(**SMALL).build({"source": 20, "target": 30})


def test_a_source_is_needed() -> None:
    with pytest.raises(ShapeError, match="needs a source"):
        writers.made(Transformer(**SMALL)).start(None, None)
