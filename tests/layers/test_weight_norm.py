import torch
from torch import nn

from regard.layers.weight_norm import NormedConvolution


def test_it_is_torch_s_weight_normalization() -> None:
    torch.manual_seed(1)
    ours = NormedConvolution(3, 4, kernel=2, gain=4.0).double()
    theirs = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 2).double())
    torch.testing.assert_close(ours.weight, ours.direction)
    with torch.no_grad():
        ours.length.mul_(1.5)
        theirs.parametrizations.weight.original0.copy_(ours.length[:, None, None])
        theirs.parametrizations.weight.original1.copy_(ours.direction)
        theirs.bias.copy_(ours.bias.normal_())
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x.mT).mT)
    assert ours(x).shape == (2, 4, 4)


def test_a_kernel_of_one_is_a_linear_layer() -> None:
    linear = NormedConvolution(3, 4).double()
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    torch.testing.assert_close(linear(x), x @ linear.weight[:, :, 0].T + linear.bias)
