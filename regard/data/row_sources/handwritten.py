"""Scikit-learn's 1,797 handwritten digits of 8 × 8 pixels."""

from dataclasses import dataclass

import numpy as np

from regard.data.number_rows import RowSet, RowSource
from regard.data.set_problem import digit_pictures


@dataclass(frozen=True)
class Handwritten(RowSource):
    """Handwritten digits of 8 × 8 pixels, which come with scikit-learn."""

    def rows(self) -> RowSet:
        parts = [digit_pictures(part) for part in ("train", "dev")]
        inputs, labels = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        return RowSet(inputs.astype(np.float32), (8, 8), labels)
