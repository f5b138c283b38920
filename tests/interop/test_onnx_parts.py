import pytest
import torch
from torch import nn

from regard.base.errors import UsageError
from regard.interop.onnx_parts import SpelledRms, prepare
from regard.models.gpt import Gpt

SMALL = {"width": 16, "heads": 2, "layers": 1}


@pytest.mark.parametrize("settings", [{}, {"eps": 0.3}, {"elementwise_affine": False}], ids=str)
def test_the_spelled_norm_is_the_norm(settings: dict[str, object]) -> None:
    norm, x = nn.RMSNorm(8, **settings), torch.randn(3, 8)
    if norm.weight is not None:
        nn.init.normal_(norm.weight)
    torch.testing.assert_close(SpelledRms(norm)(x), norm(x))


def test_norms_are_spelled_and_attention_is_the_definition() -> None:
    model = Gpt(norm="rms", **SMALL).build({"text": 20}).eval()
    tokens = torch.randint(4, 20, (2, 5))
    before = model(None, None, tokens)
    prepare(model, "file")
    assert not any(isinstance(module, nn.RMSNorm) for module in model.modules())
    assert sum(isinstance(module, SpelledRms) for module in model.modules()) == 3
    assert model.decoder.blocks[0].self_attention.reading.backend == "plain"
    assert not any(module.training for module in model.modules())
    torch.testing.assert_close(model(None, None, tokens), before, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"feed": "experts"}, "model.feed is 'experts', which ONNX cannot compute at every length"),
        ({"positions": "transformer_xl"}, "model.positions is 'transformer_xl', which ONNX cannot"),
    ],
)
def test_what_cannot_be_traced_is_refused(settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(UsageError, match=f"^file: {complaint}"):
        prepare(Gpt(**SMALL | settings).build({"text": 20}), "file")
