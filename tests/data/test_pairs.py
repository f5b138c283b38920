"""Rows side by side: nothing added but padding, nothing lost, and the target one step apart from itself."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.pairs import collate, pad
from regard.data.subwords.tokenizer import BOS, EOS, PAD

sentences = st.lists(st.integers(4, 999), max_size=9).map(lambda ids: np.array([*ids, EOS]))
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=6)


@given(rows=pairs)
def test_rows_come_back(rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
    batch = collate([source for source, _ in rows], [target for _, target in rows])
    assert len(batch) == len(rows)
    assert batch.count == sum(len(target) for _, target in rows) == int((batch.target_out != PAD).sum())
    assert batch.source.shape[1] == max(len(source) for source, _ in rows)
    for at, (source, target) in enumerate(rows):
        assert batch.source[at, : batch.source_lengths[at]].tolist() == source.tolist()
        assert batch.target_out[at, : batch.target_lengths[at]].tolist() == target.tolist()
        assert batch.target_in[at, : batch.target_lengths[at]].tolist() == [BOS, *target[:-1].tolist()]
        for side in (batch.target_in, batch.target_out):
            assert not side[at, batch.target_lengths[at] :].any()
        assert not batch.source[at, batch.source_lengths[at] :].any()


def test_an_end_inside_a_text_stays() -> None:
    batch = collate([np.array([5, EOS])], [np.array([5, EOS, 6, EOS])])
    assert batch.target_in.tolist() == [[BOS, 5, EOS, 6]]


def test_padding() -> None:
    padded, lengths = pad([np.array([7, 8, EOS]), np.array([EOS])])
    assert padded.tolist() == [[7, 8, EOS], [EOS, PAD, PAD]]
    assert lengths.tolist() == [3, 1]
    assert padded.dtype == lengths.dtype == torch.int64


def test_moving_keeps_everything() -> None:
    batch = collate([np.array([5, EOS])], [np.array([6, 7, EOS])])
    moved = batch.to("meta")
    assert moved.source.device.type == moved.target_lengths.device.type == "meta"
    assert moved.count == 3
    same = batch.to("cpu")
    assert torch.equal(same.target_in, batch.target_in)
    assert torch.equal(same.target_out, batch.target_out)


def test_links_are_numbered_by_their_pair() -> None:
    rows = [np.array([5, EOS]), np.array([6, 7, EOS]), np.array([8, EOS])]
    links = [np.array([[0, 0]]), np.zeros((0, 2), dtype=np.int64), np.array([[0, 1], [1, 0]])]
    batch = collate(rows, rows, links)
    assert batch.links is not None
    assert batch.links.tolist() == [[0, 0, 0], [2, 0, 1], [2, 1, 0]]
    moved = batch.to("meta").links
    assert moved is not None
    assert moved.device.type == "meta"
    none = collate(rows, rows, [links[1]] * 3).links
    assert none is not None
    assert none.shape == (0, 3)
    assert collate(rows, rows).links is None


@given(rows=pairs)
def test_pairs_that_are_too_long_are_left_out(rows: list[tuple[np.ndarray, np.ndarray]]) -> None:
    batch = collate([source for source, _ in rows], [target for _, target in rows])
    kept = [pair for pair in rows if max(map(len, pair)) <= 5]
    found = batch.within(5)
    assert [(len(one), one.count) for one in found] == [(len(kept), sum(len(pair[1]) for pair in kept))] * bool(kept)
    for one in found:
        assert max(one.source.shape[1], one.target_in.shape[1]) <= 5
