from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.number_rows import read_rows
from regard.data.row_sources.sprites import Sprites, write_sprites

SMALL = Sprites(side=12, sizes=2, angles=4, places=3)


def test_every_combination_comes_once_and_looks_different() -> None:
    found = SMALL.rows()
    assert len(found) == 3 * 2 * 4 * 3 * 3
    assert len(np.unique(found.factors, axis=0)) == len(found)
    assert found.factor_names == ("shape", "size", "angle", "x", "y")


def test_factors_are_what_is_seen() -> None:
    """A larger size covers more, and x and y move the middle of what is covered."""
    found = SMALL.rows()
    pictures = found.inputs.reshape(-1, 12, 12)
    mass = pictures.sum((1, 2))
    middles = [(pictures.sum(axis) * np.arange(12)).sum(1) / mass for axis in (1, 2)]
    _, size, _, x, y = found.factors.T
    assert mass[size == 1].min() > mass[size == 0].max()
    for middle, place in zip(middles, (x, y), strict=True):
        means = [middle[place == at].mean() for at in range(3)]
        assert np.diff(means) == pytest.approx([3.0, 3.0], abs=0.1)
        assert max(middle[place == at].std() for at in range(3)) < 0.5
    square = found.factors[:, 0] == 0
    upright, quarter = (pictures[square & (found.factors[:, 2] == turn)] for turn in (0, 1))
    np.testing.assert_allclose(upright, quarter, atol=1e-6), "a square looks the same after a quarter turn"


def test_written_they_are_read_again(tmp_path: Path) -> None:
    write_sprites(tmp_path / "sprites.npz", SMALL)
    again = read_rows(tmp_path / "sprites.npz")
    np.testing.assert_array_equal(again.inputs, SMALL.rows().inputs)
    np.testing.assert_array_equal(again.factors, SMALL.rows().factors)
    assert again.factor_names == Sprites.names


def test_sizes_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ConfigError, match="sprites: side must be at least 8, but is 2"):
        Sprites(side=2)
