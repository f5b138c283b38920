"""The output layer's own loss is torch's cross-entropy, however the logits are cut."""

import pytest
import torch
import torch.nn.functional as F

from regard.layers.output import LinearOutput


@pytest.mark.parametrize("rows", [None, 0, 1, 4, 99])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_it_is_torch_s(rows: int | None, smoothing: float) -> None:
    torch.manual_seed(1)
    output, hidden = LinearOutput(6, 11).double(), torch.randn(9, 6, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 11, (9,))
    total, likelihood = output.loss(hidden, targets, smoothing, rows)
    wanted = F.cross_entropy(output(hidden), targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(likelihood, F.cross_entropy(output(hidden), targets, reduction="sum").detach())
    learned = [hidden, output.weight, output.bias]
    for one, other in zip(torch.autograd.grad(total, learned), torch.autograd.grad(wanted, learned), strict=True):
        torch.testing.assert_close(one, other)
