"""What pictures are put together from."""

import numpy as np
import pytest

from regard.inspection.pictures.panels import bars, by_distance, caption, curves, short, weight_cells, write_values
from regard.inspection.pictures.style import INK, PAPER, new_figure


@pytest.fixture
def ax():
    return new_figure(3, 3).add_subplot()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.004, "0"),
        (0.25, ".25"),
        (0.999, "1"),
        (1, "1"),
        (-0.5, "−.50"),
        (3.14, "3.1"),
        (99.6, "100"),
        (2e4, "2e+04"),
    ],
)
def test_numbers_in_a_few_characters(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("values", "limits"),
    [([[0.0, 0.4]], (0, 0.4)), ([[-2.0, 1.0]], (-2, 2)), ([[-3.0, 0.0]], (-3, 0)), ([[0.0, 0.0]], (0, 1))],
)
def test_the_scale_has_zero_as_paper(ax, values: list[list[float]], limits: tuple[float, float]) -> None:
    mesh = weight_cells(ax, np.array(values))
    assert mesh.get_clim() == limits
    assert tuple(np.round(mesh.to_rgba(0.0)[:3], 6)) == (1, 1, 1)


def test_panels_can_share_a_scale(ax) -> None:
    assert weight_cells(ax, np.array([[0.1]]), limits=(0.0, 4.0)).get_clim() == (0, 4)


def test_values_are_light_on_dark_and_dark_on_light(ax) -> None:
    weights = np.array([[0.95, 0.05, 0.0]])
    write_values(ax, weight_cells(ax, weights), weights)
    assert [(text.get_text(), text.get_color()) for text in ax.texts] == [(".95", PAPER), (".05", INK)]


def test_lines_between_cells_end_where_cells_get_many(ax) -> None:
    assert weight_cells(ax, np.zeros((3, 3))).get_linewidth()[0] > 0
    assert weight_cells(ax, np.zeros((99, 3))).get_linewidth()[0] == 0


def test_by_distance_takes_the_mean_of_each_diagonal() -> None:
    apart, means = by_distance(np.array([[1.0, 5.0], [7.0, 3.0]]))
    assert list(apart) == [-1, 0, 1]
    assert list(means) == [7, 2, 5]


def test_bars_have_the_heights_of_the_values(ax) -> None:
    bars(ax, np.array([0.2, 0.8]))
    assert [bar.get_height() for bar in ax.patches] == [0.2, 0.8]


def test_more_curves_than_colors_differ_in_their_strokes(ax) -> None:
    curves(ax, np.arange(3.0), {str(index): np.arange(3.0) for index in range(10)})
    looks = {(line.get_color(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 10


def test_a_caption_stands_beside_its_mark(ax) -> None:
    caption(ax, ["one", "two"], mark="red")
    assert [text.get_text() for text in ax.texts] == ["■", "one\ntwo"]
    assert ax.texts[0].get_color() == "red"
