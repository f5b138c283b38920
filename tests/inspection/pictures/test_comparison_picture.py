from regard.inspection.pictures.comparison_picture import ComparisonRows, comparison_picture


def test_a_row_of_panels_for_each_part_that_is_there() -> None:
    rows = ComparisonRows(
        curves={"a": [[(1, 0.5, 2.0), (2, 1.0, 1.0)], [(1, 0.4, 2.1)]], "b": [[(1, 2.0, 1.5)]]},
        valid_metric="loss",
        qualities={"a": (1.0, 0.1), "b": (1.5, 0.0)},
        metric="BLEU",
        costs={"MiB": {"a": 3.0, "b": 4.0}, "seconds": {"a": 1.0}},
        groups={"a": {"1–5": 3.0, "6–9": 4.0}, "b": {"1–5": 2.0, "6–9": 1.0}},
    )
    panels = [axes for part in comparison_picture(rows).subfigs for axes in part.axes]
    assert [axes.get_xlabel() for axes in panels] == [
        *("training steps", "seconds"),
        *("MiB", "seconds"),
        "words in the source",
    ]
    assert [len(axes.lines) for axes in panels[:2]] == [3, 3]  # a curve for each seed
    shown = comparison_picture(ComparisonRows(qualities=rows.qualities, metric="BLEU", costs=rows.costs))
    assert len(shown.subfigs) == 1
    assert [text.get_text() for text in shown.legends[0].get_texts()] == ["a", "b"]
