"""T5 against its sizes and formulas; tests/interop/families/test_t5.py compares whole models with transformers."""

import math

import pytest
import torch

from regard.attention.record import record
from regard.base.errors import ConfigError
from regard.models.t5 import T5

SIZES = {"source": 20, "target": 20}


@pytest.mark.parametrize(
    ("preset", "weights"),
    [("small", 60_506_624), ("base", 222_903_552), ("small_v1_1", 76_961_152), ("base_v1_1", 247_577_856)],
)
def test_published_sizes(preset: str, weights: int) -> None:
    """The parameters that transformers counts for the published models, with their 32,128 embeddings."""
    with torch.device("meta"):
        model = T5.preset(preset).build({"source": 32_128, "target": 32_128})
    assert sum(weight.numel() for weight in model.parameters()) == weights


def test_all_layers_share_one_table_of_biases() -> None:
    model = T5(encoder_layers=3, decoder_layers=2, width=8, heads=2).build(SIZES)
    for stack, direction in ((model.encoder, "both"), (model.decoder, "back")):
        tables = {id(block.self_attention.reading.positions) for block in stack.blocks}
        assert len(tables) == 1
        assert stack.blocks[0].self_attention.reading.positions.layout.direction == direction  # type: ignore[attr-defined]
        assert type(stack.blocks[0].self_attention.reading.positions).__name__ == "BucketTable"
    loss = model(torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7]])).sum()
    loss.backward()
    table = model.encoder.blocks[0].self_attention.reading.positions.weight
    assert isinstance(table, torch.nn.Parameter)
    assert table.grad is not None


def test_the_score_is_an_unscaled_product_and_a_bias_by_a_loop() -> None:
    model = T5(encoder_layers=2, decoder_layers=1, width=8, heads=2, head_width=3).build(SIZES).double().eval()
    source, lengths = torch.tensor([[5, 6, 7, 3]]), torch.tensor([4])
    with record(model, "encoder.layers.1.self_attention") as seen:
        model.encode(source, lengths)
    first, second = model.encoder.blocks
    x = second.norms["self_attention"](first(model.source(source), keep=None))
    query, key, _ = second.self_attention.projections.of_both(x)
    table = first.self_attention.reading.positions
    for head in range(2):
        rows = slice(3 * head, 3 * head + 3)
        for at in range(4):
            logits = [
                float((query[0, at, rows] * key[0, to, rows]).sum())
                + float(table.weight[head, int(table.layout.bucket(torch.tensor(to - at)))])  # type: ignore[index,union-attr,operator]
                for to in range(4)
            ]
            total = sum(map(math.exp, logits))
            expected = torch.tensor([math.exp(logit) / total for logit in logits], dtype=torch.float64)
            torch.testing.assert_close(seen["encoder.layers.1.self_attention"][0][0, head, at], expected)


def test_outputs_are_scaled_in_version_one() -> None:
    scaled = T5(width=16, heads=2, encoder_layers=1, decoder_layers=1).build(SIZES).eval()
    hidden = torch.randn(3, 16)
    expected = hidden @ scaled.target.table.weight.T / 4
    torch.testing.assert_close(scaled.output(hidden), expected)
    targets = torch.tensor([4, 5, 6])
    total, _ = scaled.output.loss(hidden, targets)
    torch.testing.assert_close(total, torch.nn.functional.cross_entropy(expected, targets, reduction="sum"))
    newer = T5(width=16, heads=2, encoder_layers=1, decoder_layers=1, tie="embeddings", output_scale="none").build(
        SIZES
    )
    torch.testing.assert_close(newer.output(hidden), hidden @ newer.output.weight.T)
    assert newer.output.weight is not newer.target.table.weight


def test_two_vocabularies_and_impossible_heads_are_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"t5: source and target share one matrix of embeddings.* have 20 and 21 entries"
    ):
        T5().build({"source": 20, "target": 21})
    with pytest.raises(ConfigError, match="t5: head_width must be at least 1, or none, but is 0"):
        T5(head_width=0)
