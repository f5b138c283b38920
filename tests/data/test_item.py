"""Shares together are the batch: every row once, nothing but padding left out."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.data.pairs import Batch, collate
from regard.data.plan import BatchPosition
from regard.data.subwords.tokenizer import EOS, PAD
from regard.data.windows import Streams, StreamSettings

sentences = st.lists(st.integers(4, 999), max_size=9).map(lambda ids: np.array([*ids, EOS]))
pairs = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=9)


def rows_of(batch: Batch) -> list[tuple[list[int], ...]]:
    lengths = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    return [
        (batch.source[at, :one].tolist(), batch.target_in[at, :other].tolist(), batch.target_out[at, :other].tolist())
        for at, (one, other) in enumerate(lengths)
    ]


@given(rows=pairs, count=st.integers(1, 4))
def test_every_row_is_in_one_share(rows: list[tuple[np.ndarray, np.ndarray]], count: int) -> None:
    batch = collate(*zip(*rows, strict=True))
    found = batch.shares(count)
    assert 1 <= len(found) <= count
    assert sorted(row for share in found for row in rows_of(share)) == sorted(rows_of(batch))
    assert sum(share.count for share in found) == batch.count
    for share in found:
        assert share.count == int((share.target_out != PAD).sum()) == int(share.target_lengths.sum())
        assert share.source.shape[1] == share.source_lengths.max()
        assert share.target_in.shape[1] == share.target_lengths.max()


def test_shares_have_alike_much_work_and_less_padding() -> None:
    rows = [np.append(np.full(size, 7), EOS) for size in range(1, 41)]
    batch = collate(rows, rows)
    found = batch.shares(2)
    assert abs(found[0].count - found[1].count) <= 41
    assert sum(share.target_out.numel() for share in found) < 0.8 * batch.target_out.numel()


def test_links_stay_with_their_rows() -> None:
    short, long = np.array([5, EOS]), np.array([5, 6, 7, EOS])
    links = [np.array([[2, 0], [1, 1]]), np.array([[0, 0]]), np.zeros((0, 2), dtype=np.int64)]
    found = collate([long, short, short], [long, short, short], links).shares(2)
    assert [share.links.tolist() for share in found] == [[[0, 0, 0]], [[0, 2, 0], [0, 1, 1]]]


def test_a_window_is_shared_by_rows() -> None:
    window = Streams(np.arange(4, 27), StreamSettings(rows=5, length=3)).at(BatchPosition())
    found = window.shares(2)
    assert sum(share.count for share in found) == window.count
    assert sorted(row for share in found for row in share.target.tolist()) == sorted(window.target.tolist())
    assert all(torch.equal(share.input[:, 1:], share.target[:, :-1]) for share in found)


def test_rows_without_tokens_are_no_share() -> None:
    window = Streams(np.array([5]), StreamSettings(rows=3, length=4)).at(BatchPosition())
    assert [share.count for share in window.shares(3)] == [1]
