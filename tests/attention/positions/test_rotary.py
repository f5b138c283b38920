import numpy as np
import pytest
import torch

from regard.attention.positions.rotary import Rotary
from regard.base.errors import ConfigError, ShapeError


@pytest.mark.parametrize("pairs", ["halves", "neighbors"])
@pytest.mark.parametrize("base", [10_000.0, 30.0])
def test_is_a_complex_multiplication(pairs: str, base: float) -> None:
    width, at = 6, np.array([0, 3, 11, 2])
    x = torch.randn(2, 3, 4, width, dtype=torch.float64)
    y = x.numpy()
    if pairs == "halves":
        numbers = y[..., : width // 2] + 1j * y[..., width // 2 :]
    else:
        numbers = y[..., 0::2] + 1j * y[..., 1::2]
    turned = numbers * np.exp(1j * at[:, None] * base ** (-2 * np.arange(width // 2) / width))
    placed = Rotary(base, pairs).place(x, torch.tensor(at), "query").numpy()
    real, imaginary = (
        (placed[..., : width // 2], placed[..., width // 2 :])
        if pairs == "halves"
        else (placed[..., 0::2], placed[..., 1::2])
    )
    np.testing.assert_allclose(real, turned.real, atol=1e-12)
    np.testing.assert_allclose(imaginary, turned.imag, atol=1e-12)


def test_lengths_stay_and_position_zero_changes_nothing() -> None:
    x = torch.randn(1, 2, 5, 8)
    placed = Rotary().place(x, torch.arange(5), "key")
    torch.testing.assert_close(placed.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(placed[:, :, 0], x[:, :, 0])


def test_a_share_of_each_head() -> None:
    x, at = torch.randn(1, 2, 5, 8), torch.arange(5)
    placed = Rotary(share=0.5).place(x, at, "key")
    assert torch.equal(placed[..., 4:], x[..., 4:])
    torch.testing.assert_close(placed[..., :4], Rotary().place(x[..., :4], at, "key"))


def test_far_positions_stay_exact_in_float32() -> None:
    x, at = torch.randn(1, 1, 1, 8), torch.tensor([1_000_003])
    exact = Rotary().place(x.double(), at, "key")
    torch.testing.assert_close(Rotary().place(x, at, "key").double(), exact, atol=1e-5, rtol=0)


@pytest.mark.parametrize("role", ["input", "projection", "value"])
def test_leaves_all_else_alone(role: str) -> None:
    x = torch.randn(1, 2, 3, 4)
    assert Rotary().place(x, torch.arange(3), role) is x


def test_turns_pairs() -> None:
    with pytest.raises(ShapeError, match="rotary: turns pairs, but 5 of the head's 5 dimensions are to be turned"):
        Rotary().place(torch.randn(1, 2, 3, 5), torch.arange(3), "query")
    with pytest.raises(ConfigError, match=r"rotary: share must be above 0 and at most 1, but is 1\.5"):
        Rotary(share=1.5)
