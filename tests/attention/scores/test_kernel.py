import numpy as np
import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.score import SCORES
from regard.attention.scores.kernel import Kernel
from regard.base.chance import drawing
from regard.base.errors import ConfigError


def vectors(width: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(1, 2, 4, width, dtype=torch.float64), torch.randn(1, 2, 6, width, dtype=torch.float64)


@pytest.mark.parametrize("features", ["elu", "relu"])
def test_is_the_formula(features: str) -> None:
    def lift(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x + 1, np.exp(x)) if features == "elu" else np.maximum(x, 0) + 1e-3

    query, key = vectors()
    expected = np.einsum("bhid,bhjd->bhij", lift(query.numpy()), lift(key.numpy()))
    np.testing.assert_allclose(Kernel(features)(query, key).numpy(), expected, rtol=1e-12)


def test_exponential_features_are_unbiased() -> None:
    query, key = (side / side.norm(dim=-1, keepdim=True) for side in vectors(width=4))
    exact = np.exp(np.einsum("bhid,bhjd->bhij", query.numpy(), key.numpy()) / np.sqrt(4))
    draws = np.stack([Kernel("exponential", draws=64, seed=seed)(query, key).numpy() for seed in range(400)])
    error = draws.std(0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(0) - exact) < 4.5 * error).all()
    assert (error < 0.03 * exact).all()


def test_more_draws_come_nearer() -> None:
    query, key = (side / side.norm(dim=-1, keepdim=True) for side in vectors(width=4))
    exact = torch.exp(query @ key.mT / 2)
    errors = [
        (Kernel("exponential", draws=draws)(query, key) / exact - 1).abs().mean().item() for draws in (8, 128, 4096)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05


def test_directions_of_a_group_are_orthogonal() -> None:
    """Features of zero and of a unit vector reveal the directions; within a group they stand at right angles."""
    score = Kernel("exponential", draws=8)
    units = torch.eye(4, dtype=torch.float64)[None, None]
    directions = (score.lift(units)[0, 0] / score.lift(units * 0)[0, 0]).log() + 4**-0.5 / 2
    for group in directions.split(4, dim=1):
        products = group.mT @ group
        torch.testing.assert_close(products, products.diagonal().diag(), atol=1e-10, rtol=0)


@pytest.mark.parametrize("features", ["elu", "relu", "exponential"])
def test_no_logit_is_negative(features: str) -> None:
    assert (Kernel(features)(*(side * 5 for side in vectors())) >= 0).all()
    assert Kernel(features).positive


def test_the_seed_decides_and_draws_may_be_any_number() -> None:
    query, key = vectors()
    logits = [Kernel("exponential", draws=7, seed=seed)(query, key) for seed in (0, 1, 0)]
    assert torch.equal(logits[0], logits[2])
    assert not torch.equal(logits[0], logits[1])


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="kernel: draws must be at least 1, but is 0"):
        Kernel(draws=0)
    with pytest.raises(ConfigError, match=r"kernel\.features: unknown 'exp'; choices are: elu, exponential, relu"):
        SCORES.make("kernel('exp')")


def test_the_kernel_is_unbiased_and_orthogonal_directions_vary_less() -> None:
    """10,000 draws of four directions: the mean is exp(q·k/√d) within its standard error (FAVOR+, theorem 2)."""
    query, key = (
        torch.randn(1, 1, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(at)) for at in (5, 6)
    )
    exact = np.exp(np.einsum("bhid,bhjd->bhij", query.numpy(), key.numpy()) / np.sqrt(4))
    spread = {}
    for directions in ("orthogonal", "independent"):
        score = Kernel("exponential", draws=40_000, directions=directions)  # 10,000 groups of four
        products = (score.lift(query).unsqueeze(-2) * score.lift(key).unsqueeze(-3) * score.draws).unflatten(
            -1, (-1, 4)
        )
        draws = products.mean(-1).numpy()
        error = draws.std(-1) / np.sqrt(draws.shape[-1])
        assert (np.abs(draws.mean(-1) - exact) < 4 * error).all()
        spread[directions] = draws.var(-1)
    assert (spread["orthogonal"] < spread["independent"]).mean() > 0.8
    assert spread["orthogonal"].sum() < spread["independent"].sum()


def test_directions_are_redrawn_in_training_alone() -> None:
    query, key = vectors()
    sizes = Sizes(width=10, heads=2, key_heads=2, query_width=5, key_width=5, value_width=5)
    fixed, redrawn = Kernel("exponential", 16).build(sizes), Kernel("exponential", 16, redraw="step").build(sizes)
    assert torch.equal(redrawn.eval()(query, key), fixed(query, key))
    redrawn.train()
    with drawing(1):
        first, second = redrawn(query, key), redrawn(query, key)
    with drawing(1):
        left, right, scale = redrawn.factors(query, key)
        torch.testing.assert_close(left @ right.mT * scale, first)
    assert not torch.allclose(first, second)
    with pytest.raises(ConfigError, match="kernel: redraw='step' is for random features, but those of elu are fixed"):
        Kernel(redraw="step")
