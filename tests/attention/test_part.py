import torch
from torch import nn

from regard.attention.part import Part, PerHead, Sizes, positions_of
from regard.base.errors import UsageError


class Slopes(PerHead):
    """Three heads, one parameter, one buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(6.0).view(3, 2))
        self.register_buffer("shift", torch.tensor([10.0, 20.0, 30.0]))
        self.register_parameter("absent", None)
        self.name = "slopes"


def test_a_part_without_weights_is_its_own_working_part() -> None:
    part = Part()
    sizes = Sizes(width=4, heads=2, key_heads=2, query_width=2, key_width=2, value_width=2)
    assert part.build(sizes) is part
    assert part.select(torch.tensor([0])) is part


def test_the_error_before_build_says_what_to_do() -> None:
    error = Part().unbuilt()
    assert isinstance(error, UsageError)
    assert str(error) == "Part has weights: use Part(…).build(sizes), or put it into an Attention(…)"


def test_heads_are_selected_in_parameters_and_buffers() -> None:
    whole = Slopes()
    chosen = whole.select(torch.tensor([2, 0]))
    assert torch.equal(chosen.weight, whole.weight[[2, 0]])
    assert chosen.shift.tolist() == [30.0, 10.0]
    assert chosen.name == "slopes"
    assert whole.weight.shape == (3, 2)
    assert whole.shift.shape == (3,)


def test_gradients_reach_the_whole_through_a_selection() -> None:
    whole = Slopes()
    whole.select(torch.tensor([1])).weight.sum().backward()
    assert whole.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0]]


def test_positions_count_on() -> None:
    assert positions_of(3, torch.zeros(1)).tolist() == [0, 1, 2]
    assert positions_of(3, torch.zeros(1), first=5).tolist() == [5, 6, 7]
