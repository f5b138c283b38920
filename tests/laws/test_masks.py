"""Law: a mask is a predicate on positions, element by element, and masks compose like propositions."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from regard.attention.mask import MASKS, Mask
from regard.attention.sight import Stretch

from .examples import BATCH, HEADS, ROOM, examples, parts

QUERY_AT, KEY_AT = torch.tensor([0, 3, 4, 6, 11]), torch.tensor([5, 0, 1, 7, 2, 12, 6])
FULL = (BATCH, HEADS, len(QUERY_AT), len(KEY_AT))


def full(mask: Mask, query_at: Tensor = QUERY_AT, key_at: Tensor = KEY_AT) -> Tensor:
    return mask(query_at, key_at).expand(BATCH, HEADS, query_at.shape[-1], key_at.shape[-1])


@pytest.mark.parametrize("mask", examples(MASKS))
def test_is_bool_and_broadcasts(mask: Mask) -> None:
    keep = mask(QUERY_AT, KEY_AT)
    assert keep.dtype == torch.bool
    assert keep.shape[-2:] == FULL[-2:]
    assert torch.broadcast_shapes(keep.shape, FULL) == FULL


@pytest.mark.parametrize("left", examples(MASKS))
def test_composes_with_every_other(left: Mask) -> None:
    yes = full(left)
    assert torch.equal(full(~left), ~yes)
    assert torch.equal(full(~~left), yes)
    for right in parts(MASKS):
        also = full(right)
        assert torch.equal(full(left & right), yes & also)
        assert torch.equal(full(left | right), yes | also)
        assert torch.equal(full(~(left | right)), full(~left & ~right))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_a_block_of_positions_gives_the_block(mask: Mask) -> None:
    everywhere = torch.arange(ROOM)
    whole = full(mask, everywhere, everywhere)
    assert torch.equal(full(mask), whole[:, :, QUERY_AT][..., KEY_AT])
    for composed in (mask & MASKS.Causal(), ~mask | MASKS.Window(2)):
        whole = full(composed, everywhere, everywhere)
        assert torch.equal(full(composed), whole[:, :, QUERY_AT][..., KEY_AT])


@pytest.mark.parametrize("mask", examples(MASKS))
def test_positions_of_their_own_for_each_sequence(mask: Mask) -> None:
    query_at, key_at = torch.stack([QUERY_AT, QUERY_AT.flip(0)]), torch.stack([KEY_AT, KEY_AT.roll(2)])
    alone = [full(mask, rows, columns)[n] for n, (rows, columns) in enumerate(zip(query_at, key_at, strict=True))]
    assert torch.equal(full(mask, query_at, key_at), torch.stack(alone))
    same = QUERY_AT.expand(BATCH, -1), KEY_AT.expand(BATCH, -1)
    assert torch.equal(full(mask, *same), full(mask))
    assert torch.equal(full(mask, QUERY_AT[None], KEY_AT[None]), full(mask))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_one_side_alone_may_have_positions_for_each_sequence(mask: Mask) -> None:
    query_at, key_at = torch.stack([QUERY_AT, QUERY_AT.flip(0)]), torch.stack([KEY_AT, KEY_AT.roll(2)])
    assert torch.equal(full(mask, query_at, KEY_AT), full(mask, query_at, KEY_AT.expand(BATCH, -1)))
    assert torch.equal(full(mask, QUERY_AT, key_at), full(mask, QUERY_AT.expand(BATCH, -1), key_at))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_flags_are_true(mask: Mask) -> None:
    everywhere = torch.arange(ROOM)
    whole = full(mask, everywhere, everywhere)
    if mask.causal:
        assert torch.equal(whole, (everywhere <= everywhere[:, None]).expand_as(whole))
    if mask.keys_only:
        assert torch.equal(whole, whole[:, :, :1].expand_as(whole))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_flags_of_composed_masks_are_true(mask: Mask) -> None:
    everywhere = torch.arange(ROOM)
    for other in parts(MASKS):
        for composed in (mask & other, mask | other, ~mask):
            whole = full(composed, everywhere, everywhere)
            if composed.causal:
                assert torch.equal(whole, (everywhere <= everywhere[:, None]).expand_as(whole))
            if composed.keys_only:
                assert torch.equal(whole, whole[:, :, :1].expand_as(whole))
        conjuncts = [full(part) for part in (mask & other).conjuncts()]
        assert torch.equal(torch.stack(conjuncts).all(0), full(mask & other))
        disjuncts = [full(part) for part in (mask | other).disjuncts()]
        assert torch.equal(torch.stack(disjuncts).any(0), full(mask | other))


def test_the_examples_show_both_kinds_of_flags() -> None:
    assert any(mask.causal for mask in parts(MASKS))
    assert any(mask.keys_only for mask in parts(MASKS))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_heads_can_be_selected(mask: Mask) -> None:
    chosen = torch.tensor([3, 1])
    for composed in (mask, ~mask, mask & MASKS.Causal(), mask | MASKS.Window(2)):
        selected = composed.select(chosen)(QUERY_AT, KEY_AT)
        assert torch.equal(selected.expand(BATCH, 2, *FULL[-2:]), full(composed)[:, chosen])


def spans(at: Tensor, size: int) -> Stretch:
    """The first and the last position of every block of so many."""
    blocks = at.split(size)
    return Stretch(torch.stack([block.min() for block in blocks]), torch.stack([block.max() for block in blocks]))


def composed(mask: Mask) -> list[Mask]:
    others = (MASKS.Causal() & MASKS.Window(3), MASKS.Strided(4), MASKS.Tiles((2, 3), (1, 2), columns=5))
    return [mask, ~mask, *(made for other in others for made in (mask & other, mask | other, ~mask & other))]


@pytest.mark.parametrize("mask", examples(MASKS))
@pytest.mark.parametrize("size", [1, 2, 3, 5, ROOM])
def test_tiles_hold_what_they_are_said_to_hold(mask: Mask, size: int) -> None:
    at = torch.arange(ROOM)
    for one in composed(mask):
        whole = full(one, at, at)
        for other in (size, 4):
            rows, columns = spans(at, size), spans(at, other)
            some, every = one.sight(
                Stretch(*(side[:, None] for side in rows)), Stretch(*(side[None] for side in columns))
            )
            assert some.shape == every.shape == (len(rows.low), len(columns.low))
            for row, column in torch.cartesian_prod(torch.arange(len(rows.low)), torch.arange(len(columns.low))):
                tile = whole[:, :, row * size : (row + 1) * size, column * other : (column + 1) * other]
                assert some[row, column] or not tile.any()
                assert not every[row, column] or tile.all()


@pytest.mark.parametrize("mask", examples(MASKS))
def test_a_tile_of_one_pair_is_known(mask: Mask) -> None:
    """What may be seen by nobody in the batch, and what by all, is told apart."""
    at = torch.arange(ROOM)
    some, every = mask.sight(Stretch(at[:, None], at[:, None]), Stretch(at[None], at[None]))
    whole = full(mask, at, at).flatten(0, 1)
    assert torch.equal(some, whole.any(0))
    assert torch.equal(every, whole.all(0))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_groups_do_not_see_each_other(mask: Mask) -> None:
    at = torch.arange(ROOM)
    for one in composed(mask):
        group = one.group(at)
        if group is not None:
            assert not (full(one, at, at) & (group[:, None] != group)).any()


@pytest.mark.parametrize("mask", examples(MASKS))
def test_a_fixed_mask_equals_itself_made_again(mask: Mask) -> None:
    tensors = any(isinstance(value, Tensor) for value in vars(mask).values())
    assert mask.fixed == (not tensors)
    assert not mask.fixed or (replace(mask) == mask and hash(replace(mask)) == hash(mask))
    assert (mask & MASKS.Causal()).fixed == (~mask | MASKS.Causal()).fixed == mask.fixed
