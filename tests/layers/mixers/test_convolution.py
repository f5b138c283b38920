from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.base.errors import ConfigError
from regard.layers.mixers.convolution import Convolution, GatedConvolution

X = torch.randn(2, 9, 4, dtype=torch.float64)


def built(**settings: Any) -> GatedConvolution:
    layer = Convolution(**settings).build(4).double()
    for weight in layer.parameters():
        torch.nn.init.normal_(weight)
    return layer


def gated(hidden: Tensor, gate: str) -> Tensor:
    if gate == "none":
        return hidden
    first, second = hidden[..., :4], hidden[..., 4:]
    return (first.tanh() if gate == "tanh" else first) / (1 + (-second).exp())


@pytest.mark.parametrize("view", ["both", "past"])
@pytest.mark.parametrize("gate", ["sigmoid", "tanh", "none"])
@pytest.mark.parametrize("kernel", ["full", "separable"])
@pytest.mark.parametrize(("width", "dilation"), [(1, 1), (3, 1), (3, 2), (4, 1), (2, 3)])
def test_against_conv1d(view: str, gate: str, kernel: str, width: int, dilation: int) -> None:
    layer = built(width=width, dilation=dilation, gate=gate, kernel=kernel, view=view)
    reach = (width - 1) * dilation
    left = reach if view == "past" else reach - reach // 2
    padded = F.pad(X.transpose(1, 2), (left, reach - left))
    weight, bias = layer.taps.weight, layer.taps.bias
    hidden = F.conv1d(padded, weight, bias, dilation=dilation, groups=1 if kernel == "full" else 4).transpose(1, 2)
    if layer.mix is not None:
        hidden = hidden @ layer.mix.weight.T + layer.mix.bias
    expected = gated(hidden, gate) @ layer.output.weight.T + layer.output.bias
    torch.testing.assert_close(layer(X), expected)


def test_the_sum_over_taps() -> None:
    layer = built(width=3, dilation=2, gate="none", view="past")
    expected = []
    for t in range(9):
        seen = [X[:, t - back] if t >= back else torch.zeros_like(X[:, 0]) for back in (4, 2, 0)]
        hidden = sum(x @ layer.taps.weight[:, :, i].T for i, x in enumerate(seen)) + layer.taps.bias
        expected.append(hidden @ layer.output.weight.T + layer.output.bias)
    torch.testing.assert_close(layer(X), torch.stack(expected, dim=1))


@pytest.mark.parametrize("settings", [{}, {"dilation": 3}, {"width": 1}, {"kernel": "separable", "width": 5}])
def test_step_by_step(settings: dict[str, Any]) -> None:
    layer = built(**settings, view="past")
    whole, state = layer(X), layer.start()
    for t in range(9):
        output, state = layer.advance(X[:, t : t + 1], state)
        torch.testing.assert_close(output[:, 0], whole[:, t])
        assert state.inputs is not None
        assert state.inputs.shape == (2, layer.reach, 4)


def test_dilation_grows_from_layer_to_layer() -> None:
    design = Convolution(dilation=3, growth=2)
    assert [design.in_layer(at).dilation for at in range(4)] == [3, 6, 12, 24]
    assert design.in_layer(2).build(4).reach == 2 * 12
    assert design.causal().view == "past"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"width": 0}, "convolution: width must be at least 1"),
        ({"dilation": 0}, "convolution: dilation must be at least 1"),
        ({"gate": "on"}, "convolution.gate: unknown 'on'"),
        ({"kernel": "big"}, "convolution.kernel: unknown 'big'"),
        ({"view": "ahead"}, "convolution.view: unknown 'ahead'"),
    ],
)
def test_settings_out_of_range_are_refused(unchecked: None, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Convolution(**settings)
    assert "gate=sigmoid, view=both" in repr(built())
