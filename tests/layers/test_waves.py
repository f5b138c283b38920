"""Waves: sines and cosines of a coordinate, by the formula."""

import math

import torch

from regard.layers.waves import waves


def test_waves_are_sines_and_cosines_of_octaves() -> None:
    x = torch.tensor([0.3, 0.9], dtype=torch.float64)
    wanted = [0.3, 0.9]
    for wave in (math.sin, math.cos):
        wanted += [wave(math.pi * 2**k * value) for value in (0.3, 0.9) for k in range(3)]
    torch.testing.assert_close(waves(x, 3), torch.tensor(wanted, dtype=torch.float64))
    assert torch.equal(waves(x, 0), x)


def test_the_product_of_two_waves_is_that_of_their_distance() -> None:
    one, other = torch.tensor([[0.2], [0.7]], dtype=torch.float64)
    product = waves(one, 3)[1:] @ waves(other, 3)[1:]
    torch.testing.assert_close(product.item(), sum(math.cos(math.pi * 2**k * 0.5) for k in range(3)))
