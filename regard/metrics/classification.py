"""Metrics of classification, from the counts of true and predicted classes.

accuracy      the share of examples whose class is found
macro F1      the mean over classes of 2·tp / (2·tp + fp + fn)
Matthews      (c·s - Σ t_k p_k) / √((s² - Σ p_k²)(s² - Σ t_k²)): Gorodkin, 2004, for any number of classes
calibration   Σ_b |B_b| / n · |accuracy(B_b) - confidence(B_b)|: the expected calibration error over bins of the
highest probability, Guo et al., 2017, https://arxiv.org/abs/1706.04599
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.metrics.quality import QualityScore

Confusion = NDArray[np.int64]
_SHOWN = {
    "accuracy": ("accuracy", 100, 2, " %"),
    "macro_f1": ("macro F1", 100, 2, " %"),
    "matthews": ("Matthews correlation", 1, 4, ""),
    "calibration": ("calibration error", 1, 4, ""),
}


def confusion(true: Sequence[int], predicted: Sequence[int], classes: int) -> Confusion:
    """The confusion matrix: how often each class (row) was predicted as each class (column)."""
    counts = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(counts, (np.asarray(true, dtype=np.int64), np.asarray(predicted, dtype=np.int64)), 1)
    return counts


def accuracy(counts: Confusion) -> float:
    """The share of examples whose class is found."""
    return float(np.trace(counts) / max(1, counts.sum()))


def macro_f1(counts: Confusion) -> float:
    """The mean F1 of the classes; of a class that neither occurs nor is predicted, F1 is 0."""
    return float(np.mean(f1(np.diag(counts), counts.sum(0), counts.sum(1))))


def matthews(counts: Confusion) -> float:
    """The correlation of true and predicted classes; 0 where one of them never varies."""
    true, predicted, total = counts.sum(1).astype(float), counts.sum(0).astype(float), float(counts.sum())
    both = (total**2 - predicted @ predicted) * (total**2 - true @ true)
    return float((np.trace(counts) * total - true @ predicted) / both**0.5) if both > 0 else 0.0


def f1(hits: Confusion, predicted: Confusion, true: Confusion) -> NDArray[np.float64]:
    """F1 of each class, given how often it was found, predicted, and true."""
    return 2 * hits / np.maximum(1, predicted + true)


def calibration_error(confidence: Sequence[float], right: Sequence[bool], bins: int = 15) -> float:
    """The expected calibration error: how far confidence is from accuracy, over bins of equal width."""
    gaps = (count * abs(share - sure) for sure, share, count in reliability(confidence, right, bins))
    return float(sum(gaps) / max(1, len(confidence)))


def reliability(confidence: Sequence[float], right: Sequence[bool], bins: int) -> list[tuple[float, float, int]]:
    """For each bin of equal width: the mean confidence, the share that is right, and the number of examples."""
    sure, found = np.asarray(confidence, dtype=float), np.asarray(right, dtype=float)
    place = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    inside = [place == one for one in range(bins)]
    return [
        (float(sure[own].mean()), float(found[own].mean()), int(own.sum())) if own.any() else (0.0, 0.0, 0)
        for own in inside
    ]


def class_metrics(true: NDArray[Any], probabilities: NDArray[Any]) -> dict[str, float]:
    """All of the metrics, given the classes (numbers, or rows of zeros and ones where there may be several).

    Where there may be several labels, an example is right if all of them are, and a label is predicted from 0.5 on.
    """
    classes = probabilities.shape[1]
    if true.ndim == 1:
        best = probabilities.argmax(1)
        counts = confusion(true.tolist(), best.tolist(), classes)
        found = {"accuracy": accuracy(counts), "macro_f1": macro_f1(counts), "matthews": matthews(counts)}
        return found | {"calibration": calibration_error(probabilities.max(1).tolist(), (best == true).tolist())}
    chosen, wanted = probabilities >= 0.5, true > 0.5
    scores = f1((chosen & wanted).sum(0), chosen.sum(0), wanted.sum(0))
    sure = np.where(chosen, probabilities, 1 - probabilities)
    return {
        "accuracy": float((chosen == wanted).all(1).mean()),
        "macro_f1": float(scores.mean()),
        "calibration": calibration_error(sure.ravel().tolist(), (chosen == wanted).ravel().tolist()),
    }


def class_scores(true: NDArray[Any], probabilities: NDArray[Any]) -> list[QualityScore]:
    """The metrics as `regard evaluate` shows them, accuracy first."""
    scores = class_metrics(true, probabilities)
    return [
        QualityScore(shown, factor * scores[name], digits=digits, after=after)
        for name, (shown, factor, digits, after) in _SHOWN.items()
        if name in scores
    ]
