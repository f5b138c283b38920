import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.puzzle_rows import UNASKED
from regard.data.puzzles.copy_back import CopyBack


def test_the_first_symbols_are_asked_for_at_the_end() -> None:
    row, wanted = CopyBack(length=12, count=3, letters=5).draw(np.random.default_rng(1))
    assert (row[:3] - 3).tolist() == wanted[-3:].tolist()
    assert row[3:-3].tolist() == [1] * 6
    assert row[-3:].tolist() == [2] * 3
    assert (wanted[:-3] == UNASKED).all()


def test_a_text_too_short_is_told() -> None:
    with pytest.raises(ConfigError, match="copy_back: 8 symbols and their copies need a length of 16, not 10"):
        CopyBack(length=10)
