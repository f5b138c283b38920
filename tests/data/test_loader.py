"""Tensors at any position, the same ahead of time, out of order and after a restart."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.data.corpus import open_corpus
from regard.data.link_store import build_links
from regard.data.loader import Loader
from regard.data.pairs import Batch
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.store import Store, build_store
from regard.data.subwords.resegment import Resegment
from tests.data.examples import LINES, pair, subwords


@pytest.fixture
def store(tmp_path: Path) -> Store:
    (tmp_path / "a").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "b").write_text("\n".join(reversed(LINES)) + "\n", encoding="utf-8")
    return build_store(tmp_path / "store", open_corpus(tmp_path / "a", tmp_path / "b"), pair())


def loader(store: Store, dropout: float | None = None, links: Any = None) -> Loader:
    lengths = [side.lengths for side in store.sides]
    batches = BatchPlan(lengths[0], lengths[1], BatchSettings(tokens=100))
    cut = None if dropout is None else Resegment(subwords(), dropout=dropout)
    return Loader(store, batches, (cut, cut), links)


def same(one: Batch, other: Batch) -> bool:
    names = ("source", "source_lengths", "target_in", "target_out", "target_lengths")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


def test_an_epoch_holds_the_corpus(store: Store) -> None:
    made = loader(store)
    batches = [made.at(BatchPosition(index=at)) for at in range(len(made.batches.plan(0)))]
    one = subwords()
    pairs = [
        (one.decode(batch.source[row].tolist()), one.decode(batch.target_out[row].tolist()))
        for batch in batches
        for row in range(len(batch))
    ]
    assert sorted(pairs) == sorted(zip(LINES, reversed(LINES), strict=True))
    assert all(batch.target_out.numel() <= 100 for batch in batches)


@pytest.mark.parametrize("dropout", [None, 0.2])
def test_walking_resumes_anywhere(dropout: float | None, store: Store) -> None:
    walked = list(islice(loader(store, dropout).walk(), 40))
    for start in (0, 1, 17):
        resumed = list(islice(loader(store, dropout).walk(walked[start][0], depth=5), 6))
        assert [at for at, _ in resumed] == [at for at, _ in walked[start : start + 6]]
        assert all(same(a, b) for (_, a), (_, b) in zip(resumed, walked[start:], strict=False))
    assert walked[-1][0].epoch > 1


def test_segmentations_are_drawn_anew_in_every_epoch(store: Store) -> None:
    made = loader(store, 0.3)

    def epoch(number: int) -> dict[str, set[tuple[int, ...]]]:
        found: dict[str, set[tuple[int, ...]]] = {}
        for index in range(len(made.batches.plan(number))):
            batch = made.at(BatchPosition(epoch=number, index=index))
            for side in (batch.source, batch.target_out):
                for row in side.tolist():
                    ids = tuple(number for number in row if number)
                    found.setdefault(subwords().decode(ids), set()).add(ids)
        return found

    first, second = epoch(0), epoch(1)
    assert set(first) == set(second) == set(LINES)
    assert all(first[text] != second[text] for text in LINES)
    assert all(len(ways) > 1 for ways in first.values())  # each pair and side has its own draw


def test_links_travel_with_their_pairs(store: Store, tmp_path: Path) -> None:
    corpus = open_corpus(tmp_path / "a", tmp_path / "b")
    (tmp_path / "links").write_text("".join(f"{at % 3}-1\n\n" for at in range(len(LINES) // 2)), encoding="utf-8")
    links = build_links(tmp_path / "links-store", tmp_path / "links", corpus, pair())
    made = loader(store, links=links)
    for index in range(len(made.batches.plan(0))):
        batch, chosen = made.at(BatchPosition(index=index)), made.batches.at(BatchPosition(index=index))
        assert batch.links is not None
        for row, number in enumerate(chosen):
            own = batch.links[batch.links[:, 0] == row, 1:]
            assert own.tolist() == links[int(number)].tolist()
            assert bool(len(own)) == (number % 2 == 0)
    assert loader(store).at(BatchPosition()).links is None
