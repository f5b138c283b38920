from typing import Any

import pytest
import torch

from regard.attention.call import Call
from regard.attention.mask import Mask
from regard.attention.masks.causal import Causal
from regard.attention.masks.global_tokens import GlobalTokens
from regard.attention.masks.padding import Padding
from regard.attention.masks.strided import Strided
from regard.attention.masks.tiles import Tiles
from regard.attention.masks.window import Window
from regard.attention.normalizers.softmax import Softmax
from regard.attention.scores.dot import Dot
from regard.attention.tiling import Blocks, Tiling, tiling


def call(mask: Mask, queries: int = 64, keys: int = 64, **others: Any) -> Call:
    query, key = torch.randn(2, 1, queries, 2), torch.randn(2, 1, keys, 2)
    return Call(query, key, key, score=Dot(), normalizer=Softmax(), mask=mask, **others)


def pairs(plan: Tiling) -> torch.Tensor:
    """Which pairs are computed and kept, [query, key], by the blocks of a plan."""
    found = torch.zeros(plan.queries.at.shape[-1], plan.keys.at.shape[-1], dtype=torch.bool)
    for bucket in plan.buckets:
        for at, (row, columns) in enumerate(zip(bucket.rows, bucket.columns, strict=True)):
            queries, keys = plan.queries.index[row], plan.keys.index[columns].flatten()
            keep = torch.ones(len(queries), len(keys), dtype=torch.bool) if bucket.keep is None else bucket.keep[at]
            keep = keep & plan.queries.there[row][:, None]
            for i, j in keep.nonzero():
                assert not found[queries[i], keys[j]]  # nothing is computed twice
                found[queries[i], keys[j]] = True
    return found


def test_blocks_hold_every_position_and_are_filled_up_with_the_last() -> None:
    blocks = Blocks(torch.tensor([3, 5, 4, 9, 7]), 2)
    assert blocks.index.tolist() == [[0, 1], [2, 3], [4, 4]]
    assert blocks.there.tolist() == [[True, True], [True, True], [True, False]]
    assert [side.tolist() for side in blocks.span] == [[3, 4, 7], [5, 9, 7]]
    turned = Blocks(blocks.at, 2, torch.tensor([4, 3, 2, 1, 0]))
    assert turned.index.tolist() == [[4, 3], [2, 1], [0, 0]]


def test_spans_go_over_the_batch() -> None:
    assert [side.tolist() for side in Blocks(torch.tensor([[0, 1, 2], [5, 4, 3]]), 2).span] == [[0, 2], [5, 3]]


@pytest.mark.parametrize("size", [4, 5, 16, 64])
@pytest.mark.parametrize(
    "mask",
    [
        Causal() & Window(7),
        Window(3) | GlobalTokens(2),
        Causal() & Strided(8),
        Tiles((4, 2), columns=8),
        Tiles(16),
        ~Window(50),
        Causal() & ~Causal(),
    ],
    ids=str,
)
def test_the_buckets_hold_just_the_pairs_of_the_mask(mask: Mask, size: int) -> None:
    at = torch.arange(64)
    assert torch.equal(pairs(tiling(call(mask), size, size)), mask(at, at))
    rows, columns = torch.arange(37), torch.arange(53)
    assert torch.equal(pairs(tiling(call(mask, 37, 53), size, size)), mask(rows, columns))


def test_a_window_takes_a_fixed_number_of_tiles_for_each_block() -> None:
    for length in (64, 128, 256):
        plan = tiling(call(Causal() & Window(8), length, length), 8, 8)
        assert plan.share == 2 * 8 / length
        assert len(plan.buckets) == 1


def test_what_sees_much_is_computed_apart() -> None:
    plan = tiling(call(Window(4) | GlobalTokens(1), 128, 128), 4, 4)
    sizes = [(len(bucket.rows), bucket.columns.shape[1]) for bucket in plan.buckets]
    assert sizes == [(31, 4), (1, 32)]


def test_groups_are_put_side_by_side_where_that_helps() -> None:
    strided = tiling(call(Strided(8)), 8, 8)
    assert strided.queries.order[:8].tolist() == list(range(0, 64, 8))
    assert strided.share == 1 / 8
    assert strided.buckets[0].keep is not None
    assert tiling(call(Tiles(8)), 8, 8).queries.order is None
    assert tiling(call(Tiles(8)), 8, 8).buckets[0].keep is None, "all pairs of the tiles may look"
    grid = tiling(call(Tiles(4, columns=8)), 16, 16)
    assert grid.share == 1 / 4


def test_positions_of_their_own_are_obeyed() -> None:
    at = torch.stack([torch.arange(16), torch.arange(16).flip(0)])
    plan = tiling(call(Causal() & Window(2), 16, 16, query_at=at, key_at=at), 4, 4)
    keep = plan.buckets[0].keep
    assert keep.shape[:2] == (2, 1)
    mask = (Causal() & Window(2))(at, at)
    assert keep.sum() == mask.sum()


def test_a_plan_for_fixed_masks_is_kept() -> None:
    assert tiling(call(Causal() & Window(8)), 8, 8) is tiling(call(Causal() & Window(8)), 8, 8)
    assert tiling(call(Causal() & Window(8)), 8, 8) is not tiling(call(Causal() & Window(9)), 8, 8)
    padded = Window(8) & Padding(torch.tensor([64, 3]))
    one = call(padded)
    assert tiling(one, 8, 8) is tiling(one, 8, 8)
    assert tiling(one, 8, 8) is not tiling(call(padded), 8, 8)


def test_a_plan_made_while_decoding_serves_training() -> None:
    with torch.inference_mode():
        tiling(call(Window(3)), 4, 4)
        _ = tiling(call(Window(3)), 4, 4).buckets
    assert not tiling(call(Window(3)), 4, 4).buckets[0].keep.is_inference()
