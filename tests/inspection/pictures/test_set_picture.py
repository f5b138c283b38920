import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.inspection.pictures.set_picture import set_picture

WEIGHTS = torch.tensor([[[0.2, 0.8], [0.4, 0.6]]])


def test_every_element_has_a_bar_for_each_head() -> None:
    figure = set_picture(np.random.default_rng(1).random((2, 4)), WEIGHTS, (2, 2))
    above, below = figure.axes
    assert len(above.images) == 2
    assert [bar.get_height() for bar in below.patches] == pytest.approx([0.3, 0.7])
    assert len(set_picture(np.ones((2, 3)), WEIGHTS).axes[0].texts) == 2


def test_an_even_share_is_drawn_where_weights_sum_to_one() -> None:
    (line,) = set_picture(np.ones((2, 3)), WEIGHTS).axes[1].lines
    assert np.asarray(line.get_ydata()).tolist() == [0.5, 0.5]
    assert not set_picture(np.ones((2, 3)), 0.5 * WEIGHTS).axes[1].lines


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UsageError, match="elements of 3 numbers are no pictures of 2 × 2"):
        set_picture(np.ones((2, 3)), WEIGHTS, (2, 2))
    with pytest.raises(UsageError, match="the set is empty"):
        set_picture(np.ones((0, 3)), WEIGHTS)
