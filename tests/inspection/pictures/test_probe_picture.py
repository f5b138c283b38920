from regard.inspection.pictures.probe_picture import probe_picture


def test_a_curve_and_a_band_for_each_encoder() -> None:
    shots = [{"shots": count, "accuracy": 20.0 * count, "margin": 3.0} for count in (1, 2)]
    encoders = [{"name": name, "accuracy": 90.0, "shots": shots} for name in ("model", "raw input")]
    axes = probe_picture(encoders, "title").axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["model", "raw input"]
    assert len(axes.collections) == 2
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "all"]
    assert list(axes.lines[0].get_ydata()) == [20.0, 40.0]


def test_without_shots_there_is_the_end_alone() -> None:
    axes = probe_picture([{"name": "model", "accuracy": 90.0, "shots": []}]).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["all"]
