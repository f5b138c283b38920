"""The ranking as a picture."""

from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from regard.alignment.head_choice import HeadChoice
from regard.alignment.heads import Ranking
from regard.inspection.pictures.draw import save_figure
from regard.inspection.pictures.head_picture import ranking_picture


def ranking(layers: int, heads: int, best: tuple[int, int, int]) -> Ranking:
    made = []
    for shift in (0, 1):
        for layer in range(layers):
            name = f"decoder.layers.{layer}.cross"
            for head in range(heads):
                score = 0.9 if (shift, layer, head) == best else (layer * heads + head) / (2 * layers * heads)
                made.append(HeadChoice(((name, head),), shift, "gold links", score))
            if heads > 1:
                made.append(HeadChoice(tuple((name, head) for head in range(heads)), shift, "gold links", 0.3))
    return Ranking(tuple(sorted(made, key=lambda choice: -choice.score)), 321)


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (4, 4), (12, 16), (6, 8)])
def test_both_shifts_are_drawn_and_the_best_is_framed(layers: int, heads: int, tmp_path: Path) -> None:
    best = (1, layers - 1, heads // 2)
    figure = ranking_picture(ranking(layers, heads, best), "en-de")
    first, second = figure.axes[:2]
    assert [label.get_text() for label in first.get_yticklabels()] == [f"layer {layer + 1}" for layer in range(layers)]
    assert [label.get_text() for label in second.get_xticklabels()] == [*map(str, range(1, heads + 1)), "all"]
    assert not [patch for patch in first.patches if isinstance(patch, Rectangle)]
    (frame,) = second.patches
    assert isinstance(frame, Rectangle)
    assert frame.get_xy() == (best[2], best[1])
    assert first.get_title("left") == "en-de"
    assert "gold links" in first.texts[-1].get_text()
    assert save_figure(figure, tmp_path / "heads.png").stat().st_size > 1000
