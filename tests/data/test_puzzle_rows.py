import torch

from regard.data.plan import BatchPosition
from regard.data.puzzle_rows import PUZZLES, UNASKED, PuzzleBatches
from regard.data.puzzles.copy_back import CopyBack
from regard.data.puzzles.listops import Listops
from regard.data.puzzles.recall import Recall


def test_batches_follow_from_their_position_alone() -> None:
    batches = PuzzleBatches(Listops(length=24), rows=5, seed=3)
    at = BatchPosition(epoch=2, index=4)
    position, first = next(batches.walk(at))
    assert position == at
    assert torch.equal(first.tokens, batches.at(at).tokens)
    assert not torch.equal(first.tokens, PuzzleBatches(Listops(length=24), rows=5, seed=4).at(at).tokens)
    assert batches.epoch()[0] == 1000


def test_shorter_examples_are_padded_and_answers_counted() -> None:
    item = Listops(length=40).batch(16, 1)
    assert item.tokens.shape == (16, int(item.lengths.max()))
    for row, length in enumerate(item.lengths.tolist()):
        assert item.tokens[row, :length].all()
        assert not item.tokens[row, length:].any()
    assert item.count == 16
    copied = CopyBack(length=20, count=3).batch(4, 1)
    assert copied.count == 12
    assert copied.size == 80
    shares = copied.shares(2)
    assert sum(len(share.tokens) for share in shares) == 4


def test_every_puzzle_draws_symbols_and_answers_that_it_has() -> None:
    for name in PUZZLES.names:
        if name == "folder_bytes":
            continue
        puzzle = PUZZLES.make(name)
        item = puzzle.batch(8, 1)
        assert int(item.tokens[item.tokens > 0].min()) >= 1
        assert int(item.tokens.max()) < puzzle.symbols
        asked = item.wanted[item.wanted != UNASKED]
        assert int(asked.min()) >= 0
        assert int(asked.max()) < puzzle.answers
    assert Recall().batch(2, 1).to("cpu").count == 2
