import numpy as np
import pytest

from regard.inspection.pictures.overlay import overlay_picture
from tests.inspection.explanation.test_seeing import seen


@pytest.mark.parametrize("name", ["vit", "swin", "cnn"])
def test_all_layers_and_heads_are_drawn(name: str) -> None:
    found = seen(name)
    figure = overlay_picture(found, (2, 5))
    assert len(figure.axes) == 2 + sum(layer.heads for layer in found.layers)
    first = figure.axes[2]
    drawn = np.asarray(first.images[-1].get_array())
    layer = found.layers[0]
    expected = layer.of_cell(found.cell(layer, (2, 5)))[0].numpy()
    assert np.allclose(drawn, expected)
    (frame,) = first.patches
    across = 8 / layer.sight.columns
    assert frame.get_xy() == (5 // across * across, 2 // across * across)
    assert "row 2, column 5" in figure.get_suptitle()


def test_without_a_place_the_class_token_is_drawn() -> None:
    assert "class token" in overlay_picture(seen("vit")).get_suptitle()
    assert "row 4, column 4" in overlay_picture(seen("swin")).get_suptitle()
