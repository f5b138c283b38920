from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base.errors import UsageError
from regard.metrics.by_length import bleu_by_length, by_length, percent_of
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
