from regard.inspection.representation.metric_notes import NOTES, MetricNote, best_of, shown_value


def test_the_best_is_the_highest_or_the_lowest() -> None:
    higher, lower, neither = (MetricNote("", "", one) for one in ("higher", "lower", "neither"))
    values = [1.0, None, 3.0, 3.0]
    assert best_of(higher, values) == {2, 3}
    assert best_of(lower, values) == {0}
    assert best_of(neither, values) == set() == best_of(higher, [None])
    assert [shown_value(value) for value in (None, 0.12345, 45.678)] == ["–", "0.123", "45.7"]
    assert all(note.words and note.title for part in NOTES.values() for note in part.values())
