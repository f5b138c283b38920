import pytest
import torch

from regard.layers.rms_norm import RmsNorm


@pytest.mark.parametrize("settings", [{}, {"eps": 0.1}, {"elementwise_affine": False}])
def test_without_gradients_as_torch_has_it(settings: dict[str, float]) -> None:
    norm, x = RmsNorm(32, **settings), 5 * torch.randn(8, 64, 32)  # type: ignore[arg-type]
    if norm.weight is not None:
        torch.nn.init.normal_(norm.weight)
    before = x.clone()
    with torch.no_grad():
        fast = norm(x)
    exact = (x.double() / (x.double().square().mean(-1, keepdim=True) + (norm.eps or 2**-23)).sqrt()).float()
    exact = exact if norm.weight is None else exact * norm.weight
    torch.testing.assert_close(fast, exact.detach(), rtol=32 * 2**-23, atol=0)
    assert torch.equal(x, before)
    torch.testing.assert_close(norm(x), fast)  # with gradients


def test_zeros_and_other_kinds_of_numbers() -> None:
    norm = RmsNorm(8, eps=1e-6)
    with torch.no_grad():
        assert not norm(torch.zeros(4_096, 8)).any()
        assert norm.bfloat16()(torch.ones(2, 8, dtype=torch.bfloat16)).dtype == torch.bfloat16
