import torch

from regard.base.chance import drawing
from regard.layers.noise import Noise, normal_like, uniform_like

LIKE = torch.empty(200, 200)


def test_numbers_have_their_distribution() -> None:
    torch.manual_seed(1)
    even, normal = uniform_like(LIKE), normal_like(LIKE)
    assert 0 < even.min() < 1e-3
    assert 1 > even.max() > 1 - 1e-3
    torch.testing.assert_close(torch.histc(even, 10, 0, 1) / even.numel(), torch.full((10,), 0.1), atol=0.005, rtol=0)
    moments = torch.stack([(normal**power).mean() for power in (1, 2, 3, 4)])
    torch.testing.assert_close(moments, torch.tensor([0.0, 1.0, 0.0, 3.0]), atol=0.1, rtol=0)
    inside = torch.stack([(normal.abs() < bound).float().mean() for bound in (1, 2)])
    torch.testing.assert_close(inside, torch.tensor([0.6827, 0.9545]), atol=0.005, rtol=0)


def test_draws_follow_from_the_seed() -> None:
    drawn = []
    for seed in (1, 1, 2):
        with drawing(seed):
            drawn.append(normal_like(LIKE[:2, :2]))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_outside_training_the_draws_are_always_the_same() -> None:
    noise, like = Noise(), LIKE[:2, :3].double()
    assert not torch.equal(noise.normal(like), noise.normal(like))
    noise.eval()
    assert torch.equal(noise.normal(like), noise.normal(like))
    assert torch.equal(noise.uniform(like), noise.uniform(like))
    assert noise.normal(like).dtype == torch.float64
