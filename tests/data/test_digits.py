from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from regard.data.digits import DIGIT_SETS, write_digits


def test_all_digits_are_in_one_set_each(tmp_path: Path) -> None:
    made = write_digits(tmp_path)
    sets = {part: np.load(path) for part, path in made.items()}
    assert {part: len(arrays["labels"]) for part, arrays in sets.items()} == DIGIT_SETS
    assert sum(DIGIT_SETS.values()) == 1797
    pixels = np.concatenate([arrays["pictures"] for arrays in sets.values()])
    assert pixels.shape == (1797, 8, 8)
    assert (pixels.min(), pixels.max()) == (0, 255)
    assert all(set(arrays["labels"]) == set(range(10)) for arrays in sets.values())
    before = made["test"].read_bytes()
    assert write_digits(tmp_path)["test"].read_bytes() == before
