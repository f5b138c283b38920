import pytest
import torch

from regard.data.framed import Frame, batch_of


def test_one_text_stands_between_its_marks() -> None:
    assert Frame().row([[7, 8]]) == ([2, 7, 8, 3], [0, 0, 0, 0])


def test_two_texts_are_told_apart_by_segments() -> None:
    assert Frame().row([[7], [8, 9]]) == ([2, 7, 3, 8, 9, 3], [0, 0, 0, 1, 1, 1])
    assert Frame(separators=2).row([[7], [8]]) == ([2, 7, 3, 3, 8, 3], [0, 0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("texts", "longest", "kept"),
    [
        ([[5] * 9], 6, [4]),
        ([[5] * 9, [6] * 2], 9, [4, 2]),
        ([[5] * 2, [6] * 9], 9, [2, 4]),
        ([[5] * 9, [6] * 9], 10, [3, 4]),
        ([[5] * 3, [6] * 3], 10, [3, 3]),
    ],
)
def test_the_longer_text_is_shortened_first(texts: list[list[int]], longest: int, kept: list[int]) -> None:
    tokens, segments = Frame(longest=longest).row(texts)
    assert len(tokens) == len(segments) <= longest
    assert [tokens.count(text[0]) for text in texts] == kept


def test_rows_are_padded_on_the_right() -> None:
    made = batch_of([([2, 5, 3], [0, 0, 0]), ([2, 5, 3, 6, 3], [0, 0, 0, 1, 1])])
    assert made.tokens.tolist() == [[2, 5, 3, 0, 0], [2, 5, 3, 6, 3]]
    assert made.lengths.tolist() == [3, 5]
    assert made.segments.tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert made.pick(torch.tensor([0])).tokens.tolist() == [[2, 5, 3]]
