"""ConvS2S beside a loop over positions."""

import pytest
import torch
from torch import Tensor

from regard.attention.record import record
from regard.base.errors import ConfigError
from regard.layers.weight_norm import NormedConvolution
from regard.models.conv_s2s import ConvS2s

SOURCE, TARGET = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
LENGTHS = torch.tensor([4])
HALF = 0.5**0.5


def mapped(layer: NormedConvolution, x: list[Tensor]) -> list[Tensor]:
    return [layer.weight[:, :, 0] @ one + layer.bias for one in x]


def gated(layer: NormedConvolution, x: list[Tensor], shift: int) -> list[Tensor]:
    """v(Σ_i W_i x_{t+i-shift} + b), with zeros outside."""
    found = []
    for t in range(len(x)):
        total = layer.bias
        for i in range(layer.weight.shape[2]):
            if 0 <= t + i - shift < len(x):
                total = total + layer.weight[:, :, i] @ x[t + i - shift]
        a, b = total.chunk(2)
        found.append(a * b.sigmoid())
    return found


def test_the_formula() -> None:
    torch.manual_seed(1)
    design = ConvS2s(width=6, embedding=5, encoder_layers=2, decoder_layers=2, dropout=0.0, positions="learned(8)")
    model = design.build({"source": 10, "target": 10}).double().eval()
    e, g = list(model.source(SOURCE)[0]), list(model.target(TARGET)[0])
    h = mapped(model.encoder.enter, e)
    for layer in model.encoder.layers:
        made = gated(layer.taps, h, 1)
        h = [HALF * (one + other) for one, other in zip(h, made, strict=True)]
    z = mapped(model.encoder.leave, h)
    values = [HALF * (one + other) for one, other in zip(z, e, strict=True)]
    torch.testing.assert_close(model.encode(SOURCE, LENGTHS)[0][0], torch.stack(values))
    h = mapped(model.decoder.enter, g)
    for layer, cross in zip(model.decoder.layers, model.decoder.cross, strict=True):
        u = gated(layer.taps, h, 2)
        c = []
        for one, own in zip(mapped(cross.query, u), g, strict=True):
            weights = torch.stack([HALF * (one + own) @ key for key in z]).softmax(0)
            c.append(len(z) ** 0.5 * sum(w * v for w, v in zip(weights, values, strict=True)))
        read = mapped(cross.context, c)
        h = [HALF * (x + HALF * (y + w)) for x, y, w in zip(h, u, read, strict=True)]
    torch.testing.assert_close(model.hidden(SOURCE, LENGTHS, TARGET)[0], torch.stack(mapped(model.decoder.leave, h)))


def test_every_decoder_layer_can_be_looked_into() -> None:
    model = ConvS2s(width=6, encoder_layers=1, decoder_layers=3).build({"source": 10, "target": 10}).eval()
    with record(model, "decoder.cross.*") as seen:
        model(SOURCE, LENGTHS, TARGET)
    assert [weights.shape for [weights] in seen.values()] == [(1, 1, 3, 4)] * 3


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"conv_s2s.positions: rotary acts inside self-attention"):
        ConvS2s(width=4, positions="rotary").build({"source": 10, "target": 10})


def test_the_preset_has_the_published_sizes() -> None:
    base = ConvS2s.preset("base")
    assert (base.width, base.encoder_layers, base.decoder_layers, base.kernel) == (512, 20, 20, 3)
