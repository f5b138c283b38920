"""The looked-up biases are those of the table, whatever the length."""

import torch

from regard.attention.positions.buckets import Buckets, BucketTable
from regard.decoding.packed.bucket_bias import BucketBias

LENGTH = 150


@torch.inference_mode()
def test_the_biases_are_those_of_the_table() -> None:
    table = BucketTable(2, Buckets(8, 20, "back"))
    table.weight.normal_()
    empty, at = torch.empty(0), torch.arange(LENGTH)
    expected = table(empty, empty, at, at)
    found = BucketBias(table)
    seen = torch.ones(LENGTH, LENGTH).tril().bool()
    assert torch.equal(found.whole(LENGTH)[0], expected)
    for length in (1, 5, LENGTH):  # the table grows
        assert torch.equal(found.newest(length)[0, :, 0], expected[:, length - 1, :length])
    places = torch.stack([at, at.flip(0)])
    made = found.between(at, places)
    assert torch.equal(made[0][:, seen], expected[:, seen])
    assert torch.equal(made[1].flip(2)[:, seen], expected[:, seen])
