"""Against all states, one by one, on machines small enough for that, and against scikit-learn."""

import math
from itertools import product

import pytest
import torch
from sklearn.neural_network import BernoulliRBM

from regard.base.errors import UsageError
from regard.models.boltzmann import Boltzmann, BoltzmannModel


def made(numbers: int, hidden: int, size: float = 0.5) -> BoltzmannModel:
    torch.manual_seed(1)
    model = Boltzmann(code=hidden).build({"numbers": numbers}).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(size * torch.randn_like(weight))
    return model


def states(count: int) -> torch.Tensor:
    return torch.tensor(list(product((0.0, 1.0), repeat=count)), dtype=torch.float64)


def test_free_energy_and_partition_are_sums_over_states() -> None:
    model = made(4, 3)
    v, h = states(4), states(3)
    joint = v @ model.visible + (h @ model.hidden)[:, None] + h @ model.weight.T @ v.T  # [hidden states, inputs]
    torch.testing.assert_close(model.free_energy(v), -joint.logsumexp(0))
    assert model.exact_log_partition() == pytest.approx(float(joint.flatten().logsumexp(0)), abs=1e-12)
    total = (-model.free_energy(v) - model.exact_log_partition()).exp().sum()
    assert float(total) == pytest.approx(1.0, abs=1e-12)
    given = joint.softmax(0)
    torch.testing.assert_close(model.code(v), given.T @ h)


def test_annealed_importance_sampling_finds_the_partition() -> None:
    model = made(12, 8)
    assert model.log_partition(chains=100, steps=300) == pytest.approx(model.exact_log_partition(), abs=0.1)


def test_codes_and_free_energies_are_those_of_scikit_learn() -> None:
    model, x = made(5, 3), states(5)
    other = BernoulliRBM(3)
    other.components_ = model.weight.detach().numpy().T
    other.intercept_hidden_, other.intercept_visible_ = (
        part.detach().numpy() for part in (model.hidden, model.visible)
    )
    torch.testing.assert_close(model.code(x).detach(), torch.from_numpy(other.transform(x.numpy())))
    torch.testing.assert_close(model.free_energy(x).detach(), torch.from_numpy(other._free_energy(x.numpy())))


def test_contrastive_divergence_goes_up_the_likelihood() -> None:
    model, x = made(6, 4, 0.1), states(6)[torch.tensor([0, 63, 0, 63, 7])].repeat(10, 1)
    optimizer = torch.optim.Adam(model.parameters(), 0.05)

    def likelihood() -> float:
        return float((-model.free_energy(x)).mean()) - model.exact_log_partition()

    before = likelihood()
    for _ in range(40):
        optimizer.zero_grad()
        model.losses(x)["loss"].mean().backward()
        optimizer.step()
    assert likelihood() > before + 0.8
    assert likelihood() < -0.9, "the entropy of the data bounds it"
    assert math.isfinite(model.eval().losses(x)["loss"].sum().item())


def test_too_many_states_are_refused() -> None:
    with pytest.raises(UsageError, match="all states of 40 units are too many; at most 24 are summed"):
        made(2, 40).exact_log_partition()
