"""Features and labels that metrics are computed from: arrays [examples, width], checked before anything is computed."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.base.extras import install_hint

Features = NDArray[np.floating[Any]]
"""[examples, width]"""
Classes = NDArray[np.int64]
"""the number of each example's class"""


def checked_features(features: Any, where: str = "features") -> NDArray[np.float64]:
    """The features in float64; NaN, infinity, or vectors that are all the same are errors."""
    made = np.asarray(features, dtype=np.float64)
    if made.ndim != 2 or not made.size:
        raise RegardError(f"{where}: must be an array [examples, width], but has the shape {list(made.shape)}")
    bad = ~np.isfinite(made).all(1)
    if bad.any():
        raise RegardError(
            f"{where}: {int(bad.sum()):,} of {len(made):,} vectors hold NaN or infinity, first that of example "
            f"{int(bad.argmax()) + 1}"
        )
    if len(made) > 1 and not np.ptp(made, axis=0).any():
        raise RegardError(f"{where}: are constant: all {len(made):,} vectors are the same, so they tell nothing apart")
    return made


def numbered_labels(labels: Sequence[Any], examples: int, where: str = "labels") -> tuple[Classes, tuple[str, ...]]:
    """The number of each label, and the labels in order; there must be one for each example, and two different ones."""
    if len(labels) != examples:
        raise RegardError(f"{where}: there are {len(labels):,} labels, but {examples:,} examples")
    names = tuple(sorted({str(label) for label in labels}))
    if len(names) < 2:
        raise RegardError(f"{where}: there is one class alone, '{names[0] if names else ''}'; two are needed at least")
    places = {name: at for at, name in enumerate(names)}
    return np.array([places[str(label)] for label in labels], dtype=np.int64), names


def directions(features: Features) -> NDArray[np.float64]:
    """Each vector divided by its length; a vector of zeros stays."""
    lengths = np.linalg.norm(features, axis=1, keepdims=True)
    made: NDArray[np.float64] = np.asarray(features, np.float64) / np.maximum(lengths, 1e-12)
    return made


def smallest_class(labels: Classes) -> tuple[int, int]:
    """The number of the class with the fewest examples, and how many it has."""
    number, count = min(Counter(labels.tolist()).items(), key=lambda pair: (pair[1], pair[0]))
    return int(number), int(count)


def scikit_learn() -> None:
    """Raise an error that says how to install scikit-learn, unless it is there."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise RegardError(f"this needs scikit-learn, which is not installed: {install_hint('represent')}") from error
