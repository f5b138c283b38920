"""Large linear maps are replaced, small ones and everything else stay."""

import pytest
import torch
from torch import nn

from regard.base.errors import UsageError
from regard.layers.inference import precision
from regard.layers.inference.precision import PRECISIONS, in_precision
from regard.models.seq2seq import Seq2seq
from regard.models.t5 import T5
from regard.models.transformer import Transformer


@pytest.mark.parametrize("name", PRECISIONS)
def test_large_maps_are_replaced_and_shared_weights_stay_shared(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name == "int8":
        request.getfixturevalue("int8")
    monkeypatch.setattr(precision, "LEAST", 16 * 40)
    model = Transformer(encoder_layers=1, decoder_layers=1, width=16, heads=2, feedforward=20).build(
        {"source": 40, "target": 40}
    )
    before = {key: weight.clone() for key, weight in model.state_dict().items()}
    assert in_precision(model, name) is model
    assert [key for key, part in model.named_modules() if isinstance(part, PRECISIONS[name])] == [
        "encoder.layers.0.self_attention.projections.joint",
        "decoder.layers.0.self_attention.projections.joint",
        "output",
    ]
    assert model.output.weight is model.target.table.weight
    assert all(torch.equal(weight, before[key]) for key, weight in model.state_dict().items())
    assert len(model.state_dict()) == len(before)


def test_small_maps_stay_as_they_are() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    assert type(in_precision(model, "int8")[0]) is nn.Linear


def test_other_precisions_are_unknown() -> None:
    with pytest.raises(UsageError, match=r"precision: unknown .int4.*float32, int8"):
        in_precision(nn.Linear(4, 4), "int4")


@pytest.mark.parametrize("design", [Transformer, T5, Seq2seq])
def test_models_with_a_replaced_output_give_all_logits(design: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "LEAST", 16 * 40)
    model = design(encoder_layers=1, width=16).build({"source": 60, "target": 60}).eval()
    given = (torch.tensor([[5, 6, 3]]), torch.tensor([3]), torch.tensor([[2, 7]]))
    with torch.inference_mode():
        expected = model(*given)
        assert torch.allclose(in_precision(model, "float32")(*given), expected, atol=1e-5)
