from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

import torch

from regard.decoding.node_classifier import Neighborhood
from regard.inspection.pictures.draw import save_figure
from regard.inspection.pictures.neighborhood import neighborhood_picture


def example(heads: int, neighbors: int) -> Neighborhood:
    torch.manual_seed(0)
    weights = torch.rand(heads, neighbors).softmax(-1)
    return Neighborhood("n0", tuple(f"n{at}" for at in range(neighbors)), weights)


def test_each_head_has_a_panel_with_its_weights(tmp_path: Path) -> None:
    seen = example(3, 4)
    figure = neighborhood_picture(seen, "Cora")
    texts = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    for head, shown in enumerate(texts):
        assert {f"{weight:.2f}" for weight in seen.weights[head].tolist()} <= set(shown)
        assert {"n0", "itself", "n1", "n2", "n3"} <= set(shown)
    assert save_figure(figure, tmp_path / "n0.png").exists()


def test_many_neighbors_are_cut_and_counted() -> None:
    figure = neighborhood_picture(example(20, 60))
    assert len([axes for axes in figure.axes if axes.texts]) == 8
    assert "42 more neighbors with less attention" in figure.get_suptitle()
