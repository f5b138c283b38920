from regard.inspection.pictures.cost_picture import cost_picture


def test_each_cost_has_a_panel_with_a_point_for_each_of_the_settings() -> None:
    qualities = {"window": (0.9, 0.02), "full": (0.95, 0.0)}
    costs = {"seconds": {"window": 1.0, "full": 4.0}, "MiB": {"window": 30.0, "full": 90.0}}
    figure = cost_picture(qualities, costs, "accuracy")
    assert [axes.get_xlabel() for axes in figure.axes] == ["seconds", "MiB"]
    assert figure.axes[0].get_ylabel() == "accuracy"
    assert [len(axes.containers) for axes in figure.axes] == [2, 2]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["window", "full"]
