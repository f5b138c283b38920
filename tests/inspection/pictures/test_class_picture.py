"""The picture of a classifier's errors shows the counts and the bins that the metrics have."""

import numpy as np

from regard.inspection.pictures.class_picture import class_picture
from regard.metrics.classification import reliability

TRUE = np.array([0, 0, 0, 1, 1, 2])
CHANCES = np.array([[0.9, 0.1, 0], [0.7, 0.2, 0.1], [0.2, 0.8, 0], [0.1, 0.85, 0.05], [0.45, 0.3, 0.25], [0, 0, 1.0]])


def test_cells_are_counts_and_bars_are_accuracies() -> None:
    figure = class_picture(TRUE, CHANCES, ["a", "b", "long name"])
    matrix, diagram = figure.axes
    cells = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in matrix.texts}
    assert cells == {(0, 0): "2", (0, 1): "1", (1, 0): "1", (1, 1): "1", (2, 2): "1"}
    assert [label.get_text() for label in matrix.get_yticklabels()] == ["a", "b", "long name"]
    right = (CHANCES.argmax(1) == TRUE).tolist()
    filled = [share for _, share, count in reliability(CHANCES.max(1).tolist(), right, 10) if count]
    assert [bar.get_height() for bar in diagram.patches] == filled
    assert "66.7 % right" in figure.get_suptitle()


def test_many_classes_have_no_numbers() -> None:
    figure = class_picture(np.arange(40), np.eye(40), [f"class {at}" for at in range(40)], title="all right")
    assert not figure.axes[0].texts
    assert figure.get_suptitle() == "all right"
