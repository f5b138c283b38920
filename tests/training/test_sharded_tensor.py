"""Plain tensors have all rows; shared ones are tried in test_shards.py."""

import torch

from regard.training.sharded_tensor import like_rows, own_rows, range_of, row_range, set_rows, whole_tensor


def test_rows_are_shared_out_as_torch_cuts_chunks() -> None:
    for rows in range(1, 12):
        for ranks in range(1, 6):
            chunks = [len(chunk) for chunk in torch.arange(rows).chunk(ranks)]
            found = [row_range(rows, rank, ranks) for rank in range(ranks)]
            assert [stop - start for start, stop in found] == chunks + [0] * (ranks - len(chunks))
            assert found[0][0] == 0
            assert found[-1][1] == rows


def test_a_plain_tensor_is_whole() -> None:
    tensor = torch.arange(6.0).view(2, 3)
    assert own_rows(tensor) is whole_tensor(tensor) is like_rows(tensor, tensor) is tensor
    assert range_of(tensor) is None
    set_rows(tensor, torch.ones(2, 3))
    assert tensor.sum() == 6
