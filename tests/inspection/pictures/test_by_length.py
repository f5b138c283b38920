from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base.errors import UsageError
from regard.inspection.pictures.by_length import bleu_by_length, by_length, length_picture, percent_of
from regard.inspection.pictures.draw import save
from regard.metrics.quality import corpus_scores


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60), st.integers(1, 8))
def test_every_sentence_is_in_one_group_and_no_length_is_split(lengths: list[int], groups: int) -> None:
    found = by_length([" ".join(["a"] * length) for length in lengths], groups)
    assert sorted(row for group in found for row in group.rows) == list(range(len(lengths)))
    assert all(one.last < other.first for one, other in pairwise(found))
    assert all(group.first <= lengths[row] <= group.last for group in found for row in group.rows)
    assert len(found) <= max(groups, 1)


def test_the_score_of_a_group_is_that_of_its_sentences_alone() -> None:
    sources = ["a", "a b", "a b c", "a b c d"]
    references = ["x y z w", "the cat sat down", "one two three four", "five six seven eight"]
    outputs = ["x y z w", "the cat sat up", "one two three four", "five six nine ten"]
    groups = by_length(sources, 2)
    assert [str(group) for group in groups] == ["1–2", "3–4"]
    expected = [
        corpus_scores(outputs[at : at + 2], references[at : at + 2], measures=("BLEU",))[0].value for at in (0, 2)
    ]
    assert bleu_by_length(outputs, references, groups) == expected


def test_outputs_and_references_must_be_as_many() -> None:
    with pytest.raises(UsageError, match="1 outputs, but 2 references"):
        bleu_by_length(["a"], ["a", "b"], by_length(["a", "b"], 1))


def test_a_share_of_nothing_is_no_number() -> None:
    assert percent_of([1.0, 3.0], [4.0, 2.0]) == [25.0, 150.0]
    assert str(percent_of([1.0], [0.0])) == "[nan]"


def test_the_picture_has_a_line_for_each_model(tmp_path: Path) -> None:
    groups = by_length(["a", "a b", "a b c"], 3)
    figure = length_picture(groups, {"with": [1.0, 2.0, 3.0], "without": [1.0, 1.0, 0.5]})
    above, below = figure.axes
    assert [list(line.get_ydata()) for line in above.lines] == [[1.0, 2.0, 3.0], [1.0, 1.0, 0.5]]
    assert list(below.lines[0].get_ydata()) == pytest.approx([100.0, 50.0, 50 / 3])
    assert [label.get_text() for label in below.get_xticklabels()] == ["1", "2", "3"]
    assert len(length_picture(groups, {"alone": [1.0, 2.0, 3.0]}).axes) == 1
    assert save(figure, tmp_path / "a.png").stat().st_size > 1000
