"""That every mask's sight is true is a law (tests/laws/test_masks.py)."""

import torch

from regard.attention import sight
from regard.attention.masks.matrix import Matrix
from regard.attention.sight import Sight, Stretch, look_at_all


def span(*ends: tuple[int, int], axis: int) -> Stretch:
    low, high = torch.tensor(ends).T
    return Stretch(low.unsqueeze(axis), high.unsqueeze(axis))


def test_sights_combine_like_masks() -> None:
    one = Sight(torch.tensor([True, True, False]), torch.tensor([True, False, False]))
    other = Sight(torch.tensor([True, False, True]), torch.tensor([False, False, True]))
    assert [side.tolist() for side in one & other] == [[True, False, False], [False, False, False]]
    assert [side.tolist() for side in one | other] == [[True, True, True], [True, False, True]]
    assert [side.tolist() for side in ~one] == [[False, True, True], [False, False, True]]


def test_looking_at_every_position() -> None:
    matrix = torch.zeros(5, 6, dtype=torch.bool)
    matrix[:2, 3:] = True
    matrix[4, 0] = True
    rows, columns = span((0, 1), (2, 3), (4, 4), axis=1), span((0, 2), (3, 5), axis=0)
    found = look_at_all(Matrix(matrix), rows, columns)
    assert found.some.tolist() == [[False, True], [False, False], [True, False]]
    assert found.every.tolist() == [[False, True], [False, False], [False, False]]


def test_what_one_of_the_batch_sees_is_seen_and_what_one_does_not_is_not_all() -> None:
    matrix = torch.zeros(2, 3, 2, 2, dtype=torch.bool)
    matrix[1, 2] = True
    found = look_at_all(Matrix(matrix), span((0, 1), axis=1), span((0, 1), axis=0))
    assert found.some.tolist() == [[True]]
    assert found.every.tolist() == [[False]]


def test_nothing_is_claimed_of_more_than_can_be_looked_at(monkeypatch) -> None:
    monkeypatch.setattr(sight, "_PAIRS", 3)
    found = look_at_all(Matrix(torch.zeros(2, 2, dtype=torch.bool)), span((0, 1), axis=1), span((0, 1), axis=0))
    assert (found.some.tolist(), found.every.tolist()) == ([[True]], [[False]])
