import pytest
import torch
from torch import Tensor

from regard.attention.normalizer import NORMALIZERS, Normalizer
from regard.base.errors import UsageError


class Squares(Normalizer):
    """As little as a new normalizer has to write."""

    nothing = 0.0

    def forward(self, logits: Tensor) -> Tensor:
        squares = logits.square()
        return squares / squares.sum(-1, keepdim=True)


def test_a_new_normalizer_writes_its_formula_alone() -> None:
    logits = torch.tensor([[1.0, 2.0, 2.0], [3.0, 1.0, 1.0], [1.0, 1.0, 1.0]], requires_grad=True)
    keep = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    weights = Squares()(logits, keep)
    torch.testing.assert_close(weights, torch.tensor([[0.2, 0.8, 0.0], [9 / 11, 1 / 11, 1 / 11], [0.0, 0.0, 0.0]]))


def test_a_query_that_sees_nothing_sends_no_gradient() -> None:
    logits = torch.randn(2, 4, requires_grad=True)
    weights = NORMALIZERS.make("softmax")(logits, torch.tensor([[True], [False]]))
    weights.square().sum().backward()
    assert logits.grad[0].any()
    assert torch.equal(logits.grad[1], torch.zeros(4))


def test_without_keys_there_are_no_weights() -> None:
    for name in NORMALIZERS.names:
        assert NORMALIZERS.make(name)(torch.empty(2, 3, 0)).shape == (2, 3, 0)


def test_a_normalizer_without_a_formula_says_so() -> None:
    with pytest.raises(UsageError, match="Normalizer has weights"):
        Normalizer()(torch.randn(2, 2))
