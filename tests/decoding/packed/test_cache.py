"""Pairs stay where they are put; a full shelf makes room for those that are still seen."""

import torch

from regard.decoding.packed.cache import Shelf

NOBODY = -torch.inf


def test_pairs_of_a_full_shelf_move_where_somebody_sees_them() -> None:
    shelf = Shelf(torch.arange(1.0, 5.0).view(1, 1, 1, 1, 4, 1).expand(1, 2, 1, 1, 4, 1).contiguous(), filled=4)
    seen = torch.tensor([[[0.0, NOBODY, NOBODY, 0.0], [0.0, NOBODY, NOBODY, NOBODY]]])
    wider, sees = shelf.room_for(2, seen)
    assert wider is not shelf
    assert wider.filled == 4
    assert wider.pairs[0, 0, 0, 0, :2, 0].tolist() == [1.0, 4.0]
    assert sees.tolist() == [[[0.0, 0.0], [0.0, NOBODY]]]


def test_one_with_room_goes_on_but_only_for_the_first_that_asks() -> None:
    shelf = Shelf.empty(torch.zeros(1), layers=2, sentences=1, heads=1, width=3)
    seen = torch.zeros(1, 1, 0)
    same, _ = shelf.room_for(2, seen)
    other, _ = shelf.room_for(2, seen)  # a second hypothesis that goes on from the same state
    assert same is shelf
    assert other is not shelf


def test_picking_sentences_copies_theirs() -> None:
    shelf = Shelf(torch.arange(3.0).view(1, 1, 3, 1, 1, 1).expand(1, 2, 3, 1, 1, 1).contiguous(), filled=1)
    picked = shelf.pick(torch.tensor([2, 0]), filled=1)
    assert picked.pairs[0, 0, :, 0, 0, 0].tolist() == [2.0, 0.0]
    assert picked.filled == 1
