"""ByteNet beside a loop over positions, and how far it sees."""

import math

import pytest
import torch
from torch import Tensor

from regard.base.errors import ConfigError
from regard.models.byte_net import ByteNet, ByteNetModel, DilatedBlock
from tests.laws.writers import vectors_of

SOURCE, TARGET = torch.tensor([[4, 5, 3]]), torch.tensor([[2, 7, 8, 9, 4, 5]])
LENGTHS = torch.tensor([3])


def built(**settings: object) -> ByteNetModel:
    torch.manual_seed(1)
    design = ByteNet(**{"width": 6, "encoder_layers": 3, "decoder_layers": 3, "largest": 2, "extra": 1, **settings})
    return design.build({"source": 10, "target": 10}).double().eval()


def block(layer: DilatedBlock, x: list[Tensor], dilation: int, shift: int) -> list[Tensor]:
    """x + W₂ r(conv(r(W₁ r(x)))), with zeros outside."""

    def r(norm: torch.nn.LayerNorm, one: Tensor) -> Tensor:
        mean, spread = one.mean(), one.var(unbiased=False)
        return ((one - mean) / (spread + norm.eps).sqrt() * norm.weight + norm.bias).clamp(min=0)

    inner = [r(layer.norms[1], layer.enter(r(layer.norms[0], one))) for one in x]
    found = []
    for t in range(len(x)):
        total = layer.taps.bias
        for i in range(layer.taps.weight.shape[2]):
            at = t + (i - shift) * dilation
            if 0 <= at < len(x):
                total = total + layer.taps.weight[:, :, i] @ inner[at]
        found.append(x[t] + layer.leave(r(layer.norms[2], total)))
    return found


def test_the_formula() -> None:
    model = built(ratio=1.5)
    unfolded = math.ceil(1.5 * 3) + 1
    x = [*model.source(SOURCE)[0], *torch.zeros(unfolded - 3, 6, dtype=torch.float64)]
    for layer, dilation in zip(model.encoder, (1, 2, 1), strict=True):
        x = block(layer, x, dilation, 1)
    torch.testing.assert_close(model.start(SOURCE, LENGTHS).columns[0], torch.stack(x))
    over = [*x, *torch.zeros(6, 6, dtype=torch.float64)]
    y = [model.enter(torch.cat(pair)) for pair in zip(model.target(TARGET)[0], over, strict=False)]
    for layer, dilation in zip(model.decoder, (1, 2, 1), strict=True):
        y = block(layer, y, dilation, 2)
    expected = torch.stack([model.norm(one).relu() for one in y])
    torch.testing.assert_close(model.hidden(SOURCE, LENGTHS, TARGET)[0], expected)


@pytest.mark.parametrize(("layers", "kernel", "largest"), [(1, 3, 1), (3, 3, 4), (4, 3, 2), (2, 5, 2)])
def test_the_receptive_field_is_its_formula(layers: int, kernel: int, largest: int) -> None:
    """Measured by gradients: how many tokens of the target the last position depends on."""
    settings = {"decoder_layers": layers, "kernel": kernel, "largest": largest}
    model = built(**settings)
    target = torch.randint(4, 10, (1, 40))
    with vectors_of(model) as seen:
        hidden = model.hidden(SOURCE, LENGTHS, target)
    [vectors] = seen(target)
    gradient = torch.autograd.grad(hidden[0, -1].square().sum(), vectors)[0]
    seen_from_the_end = gradient[0].any(-1).nonzero()[:, 0]
    field = ByteNet(width=6, **settings).receptive_field()
    assert field < 40
    assert len(target[0]) - int(seen_from_the_end.min()) == field


def test_dilations_double_and_start_again() -> None:
    base = ByteNet.preset("base")
    assert [base.dilation(at) for at in range(7)] == [1, 2, 4, 8, 16, 1, 2]
    assert (base.width, base.encoder_layers, base.decoder_layers) == (1600, 30, 30)
    assert base.receptive_field() == 1 + 6 * 2 * 31


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="ratio must be at least 0"):
        ByteNet(ratio=-1.0)
