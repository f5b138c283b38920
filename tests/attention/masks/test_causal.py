import numpy as np
import torch

from regard.attention.mask import MASKS
from regard.attention.masks.causal import Causal


def test_is_the_lower_triangle() -> None:
    at = torch.arange(6)
    assert np.array_equal(Causal()(at, at).numpy(), np.tril(np.ones((6, 6), dtype=bool)))


def test_goes_by_positions_not_by_order() -> None:
    keep = Causal()(torch.tensor([4, 0]), torch.tensor([5, 4, 0]))
    assert keep.tolist() == [[False, True, True], [False, False, True]]


def test_is_written_as_causal() -> None:
    assert MASKS.make("causal") == Causal()
    assert Causal().causal
    assert not Causal().keys_only
