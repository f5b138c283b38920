"""Tables of lemma, tags and form."""

import pytest

from regard.data.inflection_tables import inflection_columns

LEMMAS = ["walk", "talk", "jump", "paint", "look", "cook"]
ROWS = [
    (lemma, lemma + ending, tags)
    for lemma in LEMMAS
    for ending, tags in (("ed", "V;PST"), ("ing", "V.PTCP;PRS"), ("s", "V;PRS;3"))
]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 0, 1)])
def test_the_columns_are_told_in_any_order(order: tuple[int, int, int]) -> None:
    found = inflection_columns([tuple(row[at] for at in order) for row in ROWS])
    assert found is not None
    assert [order[at] for at in (found.lemma, found.form, found.tags)] == [0, 1, 2]


def test_other_tables_are_none() -> None:
    assert inflection_columns(ROWS[:3]) is None  # too few to tell
    assert inflection_columns([row[:2] for row in ROWS]) is None
    assert inflection_columns([(lemma, "xyz", tags) for lemma, _, tags in ROWS]) is None
    assert inflection_columns([(lemma, form, "verb") for lemma, form, _ in ROWS]) is None
    sentences = [("a man, a dog", "ein Mann, ein Hund", "x; y") for _ in range(20)]
    assert inflection_columns(sentences) is None
