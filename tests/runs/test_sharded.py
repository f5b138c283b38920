"""Parts of a checkpoint are read by rows, whoever wrote them."""

from pathlib import Path

import pytest
import torch

from regard.runs.sharded import checked_parts, write_shard
from regard.runs.tensors import DamagedError


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_any_rows_come_back(ranks: int, tmp_path: Path) -> None:
    whole = torch.arange(21.0).view(7, 3)
    path, start = tmp_path / "step-00000001.safetensors", 0
    for rank, rows in enumerate(torch.tensor_split(whole, ranks)):
        write_shard(path, rank, ranks, {"w": rows}, {"w": (start, start + len(rows), 7)})
        start += len(rows)
    parts = checked_parts(path, ranks)
    parts.verify()
    assert parts.names() == ["w"]
    assert torch.equal(parts.whole()["w"], whole)
    for first in range(8):
        for last in range(first, 8):
            assert torch.equal(parts.get("w", first, last), whole[first:last])


def test_missing_rows_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "step-00000001.safetensors"
    write_shard(path, 0, 1, {"w": torch.ones(2)}, {"w": (0, 2, 4)})
    with pytest.raises(DamagedError, match="rows of 'w' are missing"):
        checked_parts(path, 1).whole()
