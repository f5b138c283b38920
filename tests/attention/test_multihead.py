import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.mask import MASKS
from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.attention.masks.window import Window
from regard.attention.memory import MixedMemory
from regard.attention.multihead import Attention, MultiHead
from regard.attention.positions.learned import Learned
from regard.attention.positions.rotary import Rotary
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.attention.record import record
from regard.base.errors import CombinationError, ConfigError, ShapeError

WIDTH = 12


def x(length: int = 5, width: int = WIDTH, batch: int = 3) -> Tensor:
    return torch.randn(batch, length, width)


def torch_layer(heads: int, source_width: int | None = None, bias: bool = True) -> nn.MultiheadAttention:
    layer = nn.MultiheadAttention(WIDTH, heads, bias=bias, kdim=source_width, vdim=source_width, batch_first=True)
    if bias:
        nn.init.normal_(layer.in_proj_bias)
        nn.init.normal_(layer.out_proj.bias)
    return layer


def copy_over(layer: MultiHead, theirs: nn.MultiheadAttention) -> None:
    ours, bias = layer.projections, theirs.in_proj_bias
    with torch.no_grad():
        if theirs.in_proj_weight is None:
            ours.query.weight.copy_(theirs.q_proj_weight)
            ours.source.weight.copy_(torch.cat([theirs.k_proj_weight, theirs.v_proj_weight]))
        else:
            ours.joint.weight.copy_(theirs.in_proj_weight)
        if bias is not None:
            if theirs.in_proj_weight is None:
                ours.query.bias.copy_(bias[:WIDTH])
                ours.source.bias.copy_(bias[WIDTH:])
            else:
                ours.joint.bias.copy_(bias)
            layer.output.bias.copy_(theirs.out_proj.bias)
        layer.output.weight.copy_(theirs.out_proj.weight)


def compare(
    layer: MultiHead, theirs: nn.MultiheadAttention, query: Tensor, source: Tensor, keep: Any, **settings: Any
) -> None:
    expected, averaged = theirs(query, source, source, **settings)
    _, each = theirs(query, source, source, average_attn_weights=False, **settings)
    with record(layer) as seen:
        output = layer(query, None if source is query else source, keep=keep)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(seen.only(), each, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(seen.only().mean(1), averaged, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 3, 12])
@pytest.mark.parametrize("bias", [True, False])
def test_self_attention_equals_torch(heads: int, bias: bool) -> None:
    theirs = torch_layer(heads, bias=bias)
    layer = Attention(heads=heads, bias=bias).build(WIDTH)
    copy_over(layer, theirs)
    query = x()
    compare(layer, theirs, query, query, None)
    lengths = torch.tensor([5, 2, 3])
    compare(layer, theirs, query, query, Padding(lengths), key_padding_mask=torch.arange(5) >= lengths[:, None])
    pairs = torch.rand(5, 5) < 0.5
    pairs.fill_diagonal_(True)
    compare(layer, theirs, query, query, pairs, attn_mask=~pairs)


def test_masked_attention_equals_torch() -> None:
    theirs = torch_layer(3)
    layer = Attention(heads=3, mask="causal").build(WIDTH)
    copy_over(layer, theirs)
    query, future = x(), torch.ones(5, 5, dtype=torch.bool).triu(1)
    compare(layer, theirs, query, query, None, attn_mask=future)
    padded = torch.tensor([[False] * 5, [False, False, False, True, True], [False] * 4 + [True]])
    both = {"attn_mask": future, "key_padding_mask": padded}
    compare(layer, theirs, query, query, ~padded[:, None, None], **both)
    compare(layer, theirs, query, query, Padding(torch.tensor([5, 3, 4])), **both)


@pytest.mark.parametrize("source_width", [WIDTH, 7])
def test_cross_attention_equals_torch(source_width: int) -> None:
    theirs = torch_layer(4, source_width if source_width != WIDTH else None)
    layer = Attention(heads=4).build(WIDTH, source_width if source_width != WIDTH else None)
    copy_over(layer, theirs)
    query, source = x(), x(6, source_width)
    compare(layer, theirs, query, source, None)
    padded = torch.arange(6) >= torch.tensor([6, 1, 4])[:, None]
    compare(layer, theirs, query, source, ~padded[:, None, None], key_padding_mask=padded)


def test_gradients_equal_torchs() -> None:
    theirs = torch_layer(3)
    layer = Attention(heads=3, mask="causal").build(WIDTH)
    copy_over(layer, theirs)
    query = x()
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    layer(query).square().sum().backward()
    theirs(query, query, query, attn_mask=future, need_weights=False)[0].square().sum().backward()
    torch.testing.assert_close(layer.projections.joint.weight.grad, theirs.in_proj_weight.grad, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(layer.output.weight.grad, theirs.out_proj.weight.grad, atol=1e-4, rtol=1e-4)


def test_the_number_of_weights_does_not_depend_on_the_heads() -> None:
    counts = {
        sum(parameter.numel() for parameter in Attention(heads=heads).build(WIDTH).parameters())
        for heads in (1, 2, 3, 4, 6, 12)
    }
    assert counts == {4 * (WIDTH * WIDTH + WIDTH)}


def test_grouped_heads_are_repeated_key_heads() -> None:
    grouped = Attention(heads=6, key_heads=2).build(WIDTH)
    full = Attention(heads=6).build(WIDTH)
    query_rows, key_rows, value_rows = grouped.projections.joint.weight.split([12, 4, 4])
    spread = [side.view(2, 2, WIDTH).repeat_interleave(3, 0).reshape(12, WIDTH) for side in (key_rows, value_rows)]
    with torch.no_grad():
        full.projections.joint.weight.copy_(torch.cat([query_rows, *spread]))
        full.output.load_state_dict(grouped.output.state_dict())
    inputs = x()
    torch.testing.assert_close(grouped(inputs), full(inputs))


def test_widths_of_its_own() -> None:
    layer = Attention(heads=2, width=6, value_width=10).build(WIDTH, 7)
    assert layer.projections.query.weight.shape == (6, WIDTH)
    assert layer.projections.source.weight.shape == (16, 7)
    assert layer.output.weight.shape == (WIDTH, 10)
    assert layer(x(), x(4, 7)).shape == (3, 5, WIDTH)


def test_parts_may_be_values_texts_or_tables() -> None:
    inputs = x()
    outputs = []
    for mask in (Causal() & Window(2), "causal & window(2)"):
        torch.manual_seed(1)
        outputs.append(Attention(heads=2, mask=mask, normalizer="sparsemax").build(WIDTH)(inputs))
    assert torch.equal(outputs[0], outputs[1])
    assert Attention(mask={"name": "window", "size": 2}, heads=2).build(WIDTH).mask == Window(2)


def test_keep_narrows_the_layers_own_mask() -> None:
    layer, inputs = Attention(heads=2, mask="causal").build(WIDTH), x()
    keep = torch.rand(3, 1, 5, 5) < 0.7
    at = torch.arange(5)
    narrowed = layer(inputs, keep=keep)
    free = Attention(heads=2).build(WIDTH)
    free.load_state_dict(layer.state_dict())
    torch.testing.assert_close(narrowed, free(inputs, keep=keep & Causal()(at, at)))
    torch.testing.assert_close(layer(inputs, keep=Window(2)), free(inputs, keep=Causal() & Window(2)))


def test_positions_are_those_that_are_given() -> None:
    layer, inputs = Attention(heads=2, positions=Rotary(), mask="causal").build(WIDTH), x()
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(layer(inputs[:, order], at=order), layer(inputs)[:, order])
    both = torch.stack([order, torch.arange(5), torch.arange(5)])
    shuffled = inputs.clone()
    shuffled[0] = inputs[0, order]
    expected = layer(inputs)
    expected[0] = expected[0, order]
    torch.testing.assert_close(layer(shuffled, at=both), expected)


def test_a_source_has_positions_of_its_own() -> None:
    layer, inputs = Attention(heads=2, positions=Rotary(), mask="causal").build(WIDTH), x()
    at, source_at = torch.arange(5) + 2, torch.arange(5)
    apart = layer(inputs, inputs.clone(), at=at, source_at=source_at)
    torch.testing.assert_close(layer(inputs, inputs, at=at, source_at=source_at), apart)
    assert not torch.allclose(apart, layer(inputs, at=at))
    batched = layer(inputs, inputs.clone(), at=at.expand(3, -1), source_at=source_at)
    torch.testing.assert_close(batched, apart)


def test_positions_beside_the_input_widen_the_projections() -> None:
    layer = Attention(heads=2, positions=Sinusoidal(join="concatenate", layers="every", width=4)).build(WIDTH)
    assert layer.projections.joint.in_features == WIDTH + 4
    assert layer(x()).shape == (3, 5, WIDTH)


def test_explain_tells_which_backend_and_why() -> None:
    layer = Attention(heads=2, mask="causal").build(WIDTH)
    with torch.no_grad():
        assert layer.backend_choice(x()).chosen == "fused"
        assert layer.backend_choice(x(), keep=torch.ones(3, 1, 1, 5, dtype=torch.bool)).chosen == "fused"
    slow = Attention(heads=2, normalizer="entmax15").build(WIDTH).backend_choice(x(), x(4))
    assert slow.chosen == "plain"
    assert slow.reasons["fused"] == "cannot: Entmax15 is not the softmax that the kernel computes"
    asked = Attention(heads=2, backend="blockwise").build(WIDTH)
    assert asked.backend_choice(x()).reasons["blockwise"] == "asked for"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"heads": 5}, "attention: width (12) must be a multiple of heads (5), for example 10"),
        ({"heads": 4, "value_width": 10}, "attention: value_width (10) must be a multiple of heads (4), for example 8"),
        ({"heads": 0}, "attention: heads must be at least 1, but is 0"),
        ({"heads": 4, "key_heads": 3}, "attention: heads (4) must be a multiple of key_heads (3)"),
        ({"dropout": 1.0}, "attention: dropout must be at least 0 and below 1, but is 1.0"),
        (
            {"mask": "windw"},
            "attention.mask: unknown 'windw' (did you mean 'window'?); masks are: " + ", ".join(MASKS.names),
        ),
        ({"mask": "window(size=0)"}, "attention.mask: window: size must be at least 1, but is 0"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(sentence)}$"):
        Attention(**({"heads": 4} | settings)).build(WIDTH)


def test_wrong_inputs_are_told(unchecked: None) -> None:
    layer = Attention(heads=2, mask="causal").build(WIDTH)
    with pytest.raises(ShapeError, match="attention: the input has width 9, but the layer takes 12"):
        layer(x(width=9))
    with pytest.raises(
        ShapeError, match=r"attention: the input must be \[batch, length, width\], but has the shape \[5, 12\]"
    ):
        layer(torch.randn(5, WIDTH))
    with pytest.raises(ShapeError, match=r"attend: keep has the shape \[3, 1, 1, 6\], which does not broadcast to"):
        layer(x(), keep=torch.ones(3, 1, 1, 6, dtype=torch.bool))
    with pytest.raises(ShapeError, match=r"attend: keep must be bool, .* but is torch.float32"):
        layer(x(), keep=torch.ones(3, 1, 1, 5))
    with pytest.raises(ShapeError, match=r"attend: keep has the shape \[2, 1, 5, 5\], which does not broadcast to"):
        layer(x(), keep=Padding(torch.tensor([1, 2])))


def test_positions_past_a_learned_table_are_told() -> None:
    layer = Attention(heads=2, positions=Learned(4, layers="every")).build(WIDTH)
    with pytest.raises(ShapeError, match="asked for position 4, but only 0 … 3 were learned"):
        layer(x())
    _, memory = layer.advance(x(4), layer.start())
    with pytest.raises(ShapeError, match="asked for position 4, but only 0 … 3 were learned"):
        layer.advance(x(1), memory)


def test_parts_that_do_not_combine_are_told() -> None:
    layer = Attention(heads=2, normalizer="ratio").build(WIDTH)
    with pytest.raises(
        CombinationError, match=r"Ratio divides by the sum of the logits, so it needs a score .*ScaledDot can"
    ):
        layer(x())
    layer = Attention(heads=2, backend="fused", normalizer="sparsemax").build(WIDTH)
    with pytest.raises(CombinationError, match="fused cannot serve this call: Sparsemax is not the softmax"):
        layer(x())


@pytest.mark.parametrize("memory", ["latent(slots=2)", "compressed(slots=2, length=9)"])
def test_memories_that_blend_obey_what_hides_whole_keys(memory: str) -> None:
    layer, inputs = Attention(heads=2, memory=memory).build(WIDTH), x()
    assert isinstance(layer.memory, MixedMemory)
    hidden = torch.arange(5) < torch.tensor([5, 2, 3])[:, None, None, None]
    other = torch.where(hidden[:, 0, 0, :, None], inputs, torch.randn_like(inputs))
    padding = Padding(torch.tensor([5, 2, 3]))
    for keep in (hidden, padding):
        torch.testing.assert_close(layer(inputs, other, keep=keep), layer(inputs, keep=hidden))
    torch.testing.assert_close(layer(inputs, keep=hidden[1, 0, 0]), layer(inputs, keep=hidden[1:2]))
    with pytest.raises(
        CombinationError, match="blends all positions, so it goes with masks that hide whole keys, such as"
    ):
        layer(inputs, keep=Causal())
    with pytest.raises(CombinationError, match="blends all positions"):
        layer(inputs, keep=torch.ones(5, 5, dtype=torch.bool))


def test_a_recurrent_memory_says_what_it_needs() -> None:
    layer = Attention(heads=2, memory="recurrent").build(WIDTH)
    with pytest.raises(
        CombinationError, match=r"recurrent memory: needs .* Kernel with Ratio, not ScaledDot with Softmax"
    ):
        layer.start()


def test_it_trains() -> None:
    """One layer learns to fetch the vector that stands before."""
    layer = Attention(heads=1, positions=Sinusoidal(layers="every")).build(16)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        inputs = torch.randn(8, 6, 16)
        loss = (layer(inputs)[:, 1:] - inputs[:, :-1]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
