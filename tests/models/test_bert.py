"""BERT against the formula; tests/interop compares whole folders with transformers."""

import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError
from regard.models.bert import Bert


def test_published_sizes() -> None:
    """The parameters of bert-base-uncased with its masked-token head (transformers counts 109,514,298)."""
    with torch.device("meta"):
        model = Bert.preset("base").build({"text": 30_522})
    assert sum(weight.numel() for weight in model.parameters()) == 109_514_298


def test_embeddings_are_token_position_and_segment_normalized() -> None:
    model = Bert(layers=1, width=8, heads=2).build({"text": 20}).eval()
    seen = {}
    model.encoder.register_forward_pre_hook(lambda part, given: seen.update(x=given[0]))
    tokens, segments = torch.tensor([[2, 5, 3, 7]]), torch.tensor([[0, 0, 1, 1]])
    model.encode(tokens, torch.tensor([4]), segments)
    positions = model.source.positions.weight  # type: ignore[union-attr]
    total = model.source.table.weight[tokens] + positions[:4] + model.segments.weight[segments]  # type: ignore[union-attr]
    expected = nn.functional.layer_norm(total, (8,), model.norm.weight, model.norm.bias, 1e-12)  # type: ignore[arg-type]
    torch.testing.assert_close(seen["x"], expected)


def test_segments_default_to_the_first_and_matter() -> None:
    model = Bert(layers=1, width=8, heads=2).build({"text": 20}).eval()
    tokens, lengths = torch.tensor([[2, 5, 3, 7]]), torch.tensor([4])
    plain, _ = model.encode(tokens, lengths)
    first, _ = model.encode(tokens, lengths, torch.zeros_like(tokens))
    second, _ = model.encode(tokens, lengths, torch.tensor([[0, 0, 1, 1]]))
    assert torch.equal(plain, first)
    assert not torch.allclose(plain, second)


def test_a_model_without_segments_does_not_tell_texts_apart() -> None:
    model = Bert(layers=1, width=8, heads=2, segments=None).build({"text": 20}).eval()
    tokens, lengths = torch.tensor([[2, 5, 3, 7]]), torch.tensor([4])
    assert torch.equal(model.encode(tokens, lengths)[0], model.encode(tokens, lengths, torch.ones_like(tokens))[0])


def test_segments_must_be_some() -> None:
    with pytest.raises(ConfigError, match="segments must be at least 1, or none, but is 0"):
        Bert(segments=0)
