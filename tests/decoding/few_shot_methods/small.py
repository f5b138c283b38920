"""A smooth network and an episode, for tests of few-shot methods."""

import torch
from torch import nn

WAYS = 3


class Small(nn.Module):
    """A smooth network of pictures."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.Linear(5, outputs)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.second(torch.tanh(self.first(pictures.flatten(1))))
        return made


def episode(seed: int = 1) -> tuple[torch.Tensor, ...]:
    draw = torch.Generator().manual_seed(seed)
    support, query = (torch.randn(count, 1, 2, 2, generator=draw, dtype=torch.float64) for count in (6, 9))
    return support, torch.arange(WAYS).repeat(2), query, torch.arange(WAYS).repeat_interleave(3)


def network(outputs: int = WAYS) -> Small:
    torch.manual_seed(7)
    return Small(outputs).double()
