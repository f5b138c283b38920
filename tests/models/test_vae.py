"""The bound against closed forms: probabilistic PCA, whose likelihood scikit-learn knows."""

import math

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from regard.base.errors import ConfigError
from regard.layers.noise import normal_like
from regard.models.vae import Vae, VaeModel, kl_divergence

DRAW = np.random.default_rng(1)
ROWS = DRAW.normal(size=(400, 3)) @ DRAW.normal(size=(3, 6)) + 0.5 * DRAW.normal(size=(400, 6)) + 2.0


def best_linear(code: int) -> tuple[VaeModel, PCA]:
    """The linear VAE whose decoder is probabilistic PCA's best and whose encoder is its exact posterior.

    W = U (Λ - σ²)^½, p(z | x) = N(M⁻¹ Wᵀ (x - m), σ² M⁻¹), M = Wᵀ W + σ²: Tipping and Bishop, 1999.
    """
    found = PCA(code).fit(ROWS)
    model = Vae.preset("linear", code=code).build({"numbers": ROWS.shape[1]}).double().eval()
    spread = found.noise_variance_
    out = found.components_.T * np.sqrt(found.explained_variance_ - spread)
    inverse = np.linalg.inv(out.T @ out + spread * np.eye(code))
    inward, (encoder,), (decoder,) = inverse @ out.T, model.encoder.layers, model.decoder.layers
    with torch.no_grad():
        encoder.weight.copy_(torch.from_numpy(np.concatenate((inward, np.zeros_like(inward)))))
        steady = np.log(np.diag(spread * inverse))
        encoder.bias.copy_(torch.from_numpy(np.concatenate((-inward @ found.mean_, steady))))
        decoder.weight.copy_(torch.from_numpy(out))
        decoder.bias.copy_(torch.from_numpy(found.mean_))
        model.log_variance.fill_(math.log(spread))
    return model, found


def test_a_linear_vae_is_probabilistic_pca() -> None:
    """Its bound is the likelihood itself: with the exact posterior every sample has the same importance weight."""
    model, found = best_linear(2)
    x = torch.from_numpy(ROWS)
    each = model.importance_bound(x, 3)
    np.testing.assert_allclose(each.numpy(), found.score_samples(ROWS), atol=1e-9)
    assert float(each.mean()) == pytest.approx(found.score(ROWS), abs=1e-9)
    # The mean of the ELBO over draws is the same; one draw per example leaves its noise.
    assert float(model.losses(x)["elbo"].mean()) == pytest.approx(found.score(ROWS), abs=0.2)


def test_the_bound_grows_from_the_elbo_to_the_likelihood() -> None:
    """With an encoder that is off, more samples come nearer to log p(x), from below."""
    model, found = best_linear(2)
    with torch.no_grad():
        model.encoder.layers[0].bias += torch.tensor([0.2, -0.15, 0.4, 0.3], dtype=torch.float64)
    x, exact = torch.from_numpy(ROWS), found.score_samples(ROWS)
    mean, spread = model.posterior(x)
    # E_q log p(x | z) in closed form: the squared distance of the decoded mean, and what the spread of z adds to it
    out, noise = model.decoder.layers[0].weight, model.log_variance.exp()
    away = (model.decoder(mean) - x).square().sum(1) + (spread.exp() * out.square().sum(0)).sum(1)
    likely = -0.5 * (away / noise + x.shape[1] * (model.log_variance + math.log(2 * math.pi)))
    elbo = float((likely - kl_divergence(mean, spread)).mean())
    torch.manual_seed(1)
    one = float(torch.stack([model.importance_bound(x, 1) for _ in range(200)]).mean())
    assert one == pytest.approx(elbo, abs=0.02)
    means = [one, *(float(model.importance_bound(x, count).mean()) for count in (5, 50, 5_000))]
    assert means == sorted(means)
    assert elbo < means[1] < exact.mean() + 1e-3
    assert means[-1] == pytest.approx(exact.mean(), abs=2e-3)
    assert exact.mean() - elbo > 0.1


def test_the_bound_of_pieces_is_that_of_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """log 1/K Σ p(x | z) p(z) / q(z | x), by torch's distributions and one sample at a time."""
    torch.manual_seed(1)
    model = Vae(code=2, width=8).build({"numbers": 6}).double().eval()
    x = (torch.rand(3, 6) < 0.5).double()
    monkeypatch.setattr("regard.models.vae._AT_ONCE", 2 * x.numel())
    noises: list[torch.Tensor] = []

    def kept(like: torch.Tensor) -> torch.Tensor:
        noises.append(normal_like(like))
        return noises[-1]

    monkeypatch.setattr("regard.models.vae.normal_like", kept)
    pieces = model.importance_bound(x, 7)
    assert [len(noise) for noise in noises] == [2, 2, 2, 1]
    mean, spread = model.posterior(x)
    proposal, prior = torch.distributions.Normal(mean, (0.5 * spread).exp()), torch.distributions.Normal(0.0, 1.0)
    weights = []
    for noise in torch.cat(noises):
        z = mean + (0.5 * spread).exp() * noise
        likely = torch.distributions.Bernoulli(logits=model.decoder(z)).log_prob(x).sum(1)
        weights.append((likely + prior.log_prob(z).sum(1) - proposal.log_prob(z).sum(1)).exp())
    torch.testing.assert_close(pieces, torch.stack(weights).mean(0).log())


def test_the_divergence_is_that_of_torch() -> None:
    mean, spread = torch.randn(4, 3), torch.randn(4, 3)
    one, other = torch.distributions.Normal(mean, (0.5 * spread).exp()), torch.distributions.Normal(0.0, 1.0)
    torch.testing.assert_close(kl_divergence(mean, spread), torch.distributions.kl_divergence(one, other).sum(1))


def test_beta_and_capacity_weigh_the_divergence() -> None:
    x = torch.rand(4, 6)
    for settings, progress in (({"beta": 3.0}, 1.0), ({"beta": 5.0, "capacity": 8.0}, 0.5)):
        torch.manual_seed(1)
        found = Vae(code=2, width=8, **settings).build({"numbers": 6}).eval().losses(x, progress)
        divergence = found["divergence"]
        weighed = divergence if "capacity" not in settings else (divergence - 4.0).abs()
        torch.testing.assert_close(found["loss"], found["reconstruction"] + settings["beta"] * weighed)
        torch.testing.assert_close(found["elbo"], -found["reconstruction"] - divergence)


def test_more_samples_give_a_tighter_bound() -> None:
    torch.manual_seed(1)
    model = Vae(code=2, width=8).build({"numbers": 6}).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.5 * torch.randn_like(weight)
    x = (torch.rand(200, 6) < 0.5).float()
    one, many = (float(model.importance_bound(x, samples).mean()) for samples in (1, 200))
    assert many > one
    assert model.draw_codes(torch.empty(3, 2)).shape == (3, 2)


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"vae: beta must be at least 0, but is -1.0"):
        Vae(beta=-1.0)
