import torch

from regard.decoding.gumbel import gumbel_noise


def keys(count: int) -> torch.Tensor:
    return torch.randint(-(2**31), 2**31, (count, 2), generator=torch.Generator().manual_seed(1)).int()


def test_the_noise_is_distributed_as_gumbel_has_it() -> None:
    noise = gumbel_noise(keys(300), torch.arange(1000)[None]).flatten().sort().values.double()
    expected = (-(-noise).exp()).exp()
    there = (torch.arange(len(noise)) + 0.5) / len(noise)
    assert (expected - there).abs().max() < 1.95 / len(noise) ** 0.5  # Kolmogorov and Smirnov's test at 0.1 %


def test_neighboring_tokens_and_keys_have_nothing_in_common() -> None:
    near = torch.tensor([[0, 0], [1, 0], [0, 1], [2, 0]]).int()
    noise = gumbel_noise(near, torch.arange(50_000)[None])
    both = torch.corrcoef(torch.cat([noise, noise.roll(1, 1), noise.roll(2, 1)]))
    assert both.fill_diagonal_(0).abs().max() < 0.025


def test_a_token_has_the_same_noise_among_few_and_many() -> None:
    chosen = torch.randint(0, 70_000, (5, 8), generator=torch.Generator().manual_seed(2))
    whole = gumbel_noise(keys(5), torch.arange(70_000)[None])
    assert torch.allclose(gumbel_noise(keys(5), chosen), whole.gather(1, chosen), atol=1e-5)


def test_the_noise_stays_the_same() -> None:
    noise = gumbel_noise(torch.tensor([[1, -2], [2**31 - 1, 5]]).int(), torch.tensor([[0, 1, 31_999]]))
    assert torch.allclose(noise, torch.tensor(NOISE), atol=1e-5)
    assert noise.isfinite().all()


NOISE = [[2.816255, 3.323545, 1.934359], [-0.086886, -0.281846, 0.288198]]
