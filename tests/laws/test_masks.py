"""Law: a mask is a predicate on positions, element by element, and masks compose like propositions."""

import pytest
import torch
from torch import Tensor

from regard.attention.mask import MASKS, Mask

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


def test_the_examples_show_both_kinds_of_flags() -> None:
    assert any(mask.causal for mask in parts(MASKS))
    assert any(mask.keys_only for mask in parts(MASKS))


@pytest.mark.parametrize("mask", examples(MASKS))
def test_heads_can_be_selected(mask: Mask) -> None:
    chosen = torch.tensor([3, 1])
    for composed in (mask, ~mask, mask & MASKS.Causal(), mask | MASKS.Window(2)):
        selected = composed.select(chosen)(QUERY_AT, KEY_AT)
        assert torch.equal(selected.expand(BATCH, 2, *FULL[-2:]), full(composed)[:, chosen])
