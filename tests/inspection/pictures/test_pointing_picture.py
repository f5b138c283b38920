import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.inspection.pictures.pointing_picture import pointing_picture

POINTS = np.random.default_rng(1).random((6, 2))


def test_each_step_has_a_panel_with_its_choice() -> None:
    looked = torch.full((4, 7), 1 / 7)
    looked[0, 3] = 0.5
    figure = pointing_picture(POINTS, (2, 0, 5), looked, truth=[2, 0, 1])
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["the answer", "1: point 2, 0.50", "2: point 0, 0.14", "3: point 5, 0.14", "4: end, 0.14"]
    assert len(figure.axes[0].lines) == 2, "the answer, and the right one"


def test_points_outside_the_plane_are_refused() -> None:
    with pytest.raises(UsageError, match="points must lie in the plane, but have 1 coordinates"):
        pointing_picture(POINTS[:, :1], (0,), torch.ones(2, 7))
