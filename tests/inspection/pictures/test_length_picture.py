from pathlib import Path

import pytest

from regard.inspection.pictures.draw import save_figure
from regard.inspection.pictures.length_picture import length_picture


def test_the_picture_has_a_line_for_each_model(tmp_path: Path) -> None:
    groups = ["1", "2", "3"]
    figure = length_picture(groups, {"with": [1.0, 2.0, 3.0], "without": [1.0, 1.0, 0.5]})
    above, below = figure.axes
    assert [list(line.get_ydata()) for line in above.lines] == [[1.0, 2.0, 3.0], [1.0, 1.0, 0.5]]
    assert list(below.lines[0].get_ydata()) == pytest.approx([100.0, 50.0, 50 / 3])
    assert [label.get_text() for label in below.get_xticklabels()] == ["1", "2", "3"]
    assert len(length_picture(groups, {"alone": [1.0, 2.0, 3.0]}).axes) == 1
    assert save_figure(figure, tmp_path / "a.png").stat().st_size > 1000
