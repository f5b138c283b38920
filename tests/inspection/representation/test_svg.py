from xml.etree import ElementTree

from regard.inspection.representation.svg import Curve, hue, legend, plot_curves, plot_points, plot_shades


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{text}</div>")


def count(text: str, name: str) -> int:
    return len(parsed(text).findall(f".//{{http://www.w3.org/2000/svg}}{name}"))


def test_a_mark_for_each_point_of_a_curve() -> None:
    curves = [Curve("a < b", [10.0, 50.0, 200.0], [1.0, 2.0, 0.0], 0), Curve("c", [5.0, 6.0, 7.0], (), 1)]
    text = plot_curves(curves, ["1", "2", "all"], "shots")
    assert count(text, "circle") == 6 and count(text, "polygon") == 1 and count(text, "polyline") == 2
    assert "a &lt; b, 2: 50.0 ± 2.0" in text
    assert "a < b" not in text


def test_points_and_shades_and_colors() -> None:
    text = plot_points([[0.0, 1.0], [2.0, 3.0]], [0, 1], ["<one>", "two"])
    assert count(text, "circle") == 2 and "&lt;one&gt;" in text
    assert count(plot_points([[0.0, 0.0]], [0], ["x"]), "circle") == 1
    table = plot_shades(["r"], ["c1", "c2"], [[0.5, 1.0]], 1.0)
    assert count(table, "rect") == 2 and ">0.50<" in table
    assert len({hue(at) for at in range(60)}) == 60
    assert "&amp;" in legend([("a & b", "red")])
