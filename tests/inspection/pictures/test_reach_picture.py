from regard.inspection.pictures.reach_picture import reach_picture


def test_a_line_for_each_model() -> None:
    (axes,) = reach_picture({"plain": [1.0, 0.1, 0.01], "attentive": [1.0, 0.5, 0.4]}).axes
    assert axes.get_yscale() == "log"
    assert [line.get_label() for line in axes.lines] == ["plain", "attentive"]
    assert list(axes.lines[0].get_ydata()) == [1.0, 0.1, 0.01]
