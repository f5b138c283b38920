"""What sharded training keeps is read by its tests in test_shards.py; here is what a damaged part costs."""

from pathlib import Path

import pytest
import torch

from regard.base.errors import RegardError
from regard.runs.checkpoint import Checkpoint, Checkpoints
from regard.runs.sharded import shard_path, write_shard


def test_a_checkpoint_with_a_missing_or_damaged_part_is_skipped(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    for step in (1, 2, 3):
        for rank in range(2):
            rows = torch.full((2, 3), float(step))
            write_shard(kept.path(step), rank, 2, {"w": rows}, {"w": (2 * rank, 2 * rank + 2, 4)})
        kept.write(Checkpoint(step, {}, {"shards": 2}))
    shard_path(kept.path(3), 1, 2).unlink()
    path = shard_path(kept.path(2), 0, 2)
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    warnings: list[str] = []
    assert [found.step for found in kept.newest_first(warnings.append)] == [1]
    assert ["is missing" in warnings[0], "damaged" in warnings[1]] == [True, True]
    assert kept.read(1).tensors["w"].shape == (4, 3)
    kept.keep([1])
    assert {path.name[:13] for path in tmp_path.iterdir()} == {"step-00000001"}
    with pytest.raises(RegardError, match="is missing"):
        kept.write(Checkpoint(5, {}, {"shards": 2}))
        kept.read(5)
