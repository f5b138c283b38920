"""Where label and texts stand in a table, told by names or by content."""

import pytest

from regard.base.errors import ConfigError
from regard.data.label_columns import LabelColumns, label_columns, named_keys

TEXTS = [f"what is number {at} ?" for at in range(60)]
LABELS = [("good", "bad")[at % 2] for at in range(60)]


def rows(*columns: list[str]) -> list[list[str]]:
    return [list(row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("table", "keys", "places", "header"),
    [
        (rows(LABELS, TEXTS), None, (0, 1), False),
        (rows(TEXTS, LABELS), None, (1, 0), False),
        (rows(LABELS[:3], TEXTS[:3]), None, (0, 1), False),
        (rows(LABELS, TEXTS, TEXTS[::-1]), None, (0, 1, 2), False),
        (rows(TEXTS, LABELS, TEXTS[::-1]), None, (1, 0, 2), False),
        ([["question", "Sentiment"], *rows(TEXTS, LABELS)], None, (1, 0), True),
        ([["what", "mood"], *rows(TEXTS, LABELS)], None, (1, 0), True),
        (rows([str(at) for at in range(60)], LABELS, ["x"] * 60, TEXTS), None, (1, 3), False),
        ([["id", "a", "b"], *rows([str(at) for at in range(60)], TEXTS, LABELS)], ("b", "a"), (2, 1), True),
        (rows(TEXTS, LABELS), (2, 1), (1, 0), False),
        (rows(LABELS, TEXTS), ("label", "text"), (0, 1), False),
    ],
)
def test_columns_are_found(
    table: list[list[str]], keys: tuple[int | str, ...] | None, places: tuple[int, ...], header: bool
) -> None:
    assert label_columns(table, keys, "a.tsv") == LabelColumns(places, header)


def test_keys_of_json() -> None:
    assert named_keys(["idx", "premise", "hypothesis", "label"]) == ("label", "premise", "hypothesis")
    assert named_keys(["en", "de"]) is None


@pytest.mark.parametrize(
    ("table", "keys", "complaint"),
    [
        ([["a", "b", "c", "d"]], None, "has 4 columns .*; name the label and the text by data.keys"),
        ([["a"]], None, "must be a label and one or two texts"),
        ([["a", "b"]], (1, 3), "has 2 columns, so there is no column 3"),
        ([["a", "b"]], ("a", "text"), "unknown 'text'"),
    ],
)
def test_mistakes(table: list[list[str]], keys: tuple[int | str, ...] | None, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        label_columns(table, keys, "a.tsv")
