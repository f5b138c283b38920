"""How a classifier errs: the confusion matrix, and a reliability diagram beside it.

The diagram has the accuracy of answers over how sure the classifier was of them, in bins; where it is calibrated, they
lie on the diagonal. Guo et al., 2017, https://arxiv.org/abs/1706.04599
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from regard.inspection.pictures.style import INK, LINE, LINES, QUIET, WEIGHT_COLORS, new_figure, spelled
from regard.metrics.classification import accuracy, calibration_error, confusion, reliability

_MOST_NUMBERS = 24
"""with more classes than that, cells are too small for numbers"""


def class_picture(
    true: NDArray[np.int64], probabilities: NDArray[np.float64], classes: Sequence[str], title: str = ""
) -> Figure:
    """The picture of a test set: true class numbers, and the probability of each class for each example."""
    best = probabilities.argmax(1)
    counts = confusion(true.tolist(), best.tolist(), len(classes))
    side = min(9.0, max(3.6, 0.42 * len(classes) + 1.6))
    figure = new_figure(side + 4.4, max(side, 4.0))
    left, right = figure.subplots(1, 2, width_ratios=[side, 3.8])
    _matrix(left, counts, classes)
    _diagram(right, probabilities.max(1), best == true)
    shown = title or f"{len(true):,} examples, {100 * accuracy(counts):.1f} % right"
    figure.suptitle(shown, x=0.02, ha="left", color=INK, fontweight="bold")
    return figure


def _matrix(axes: Axes, counts: NDArray[np.int64], classes: Sequence[str]) -> None:
    """Rows are true classes and add up to 1 in color; numbers are counts."""
    shares = counts / np.maximum(1, counts.sum(1, keepdims=True))
    axes.imshow(shares, cmap=WEIGHT_COLORS, vmin=0, vmax=1)
    names = [spelled(name) for name in classes]
    axes.set_xticks(range(len(classes)), names, rotation=90 if max(map(len, names)) > 3 else 0)
    axes.set_yticks(range(len(classes)), names)
    axes.set(xlabel="predicted", ylabel="true", title="confusion matrix")
    axes.tick_params(length=0)
    if len(classes) <= _MOST_NUMBERS:
        for row, column in zip(*counts.nonzero(), strict=True):
            color = "white" if shares[row, column] > 0.5 else INK
            axes.text(column, row, f"{counts[row, column]:,}", ha="center", va="center", color=color, fontsize=8)
    for spine in axes.spines.values():
        spine.set_color(LINE)


def _diagram(axes: Axes, sure: NDArray[np.float64], right: NDArray[np.bool_]) -> None:
    """Bars are accuracies of bins, as dark as the share of examples in them is large."""
    bins = reliability(sure.tolist(), right.tolist(), 10)
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle="--")
    most = max((count for *_, count in bins), default=1)
    for at, (_, share, count) in enumerate(bins):
        if count:
            axes.bar((at + 0.5) / 10, share, width=0.094, color=LINES[0], alpha=0.25 + 0.75 * count / most)
            axes.text((at + 0.5) / 10, share + 0.015, f"{count:,}", ha="center", fontsize=7, color=QUIET)
    error = calibration_error(sure.tolist(), right.tolist())
    axes.set(xlim=(0, 1), ylim=(0, 1.08), xlabel="how sure it was", ylabel="how often it was right")
    axes.set_title(f"calibration error {100 * error:.1f} %")
    axes.spines[["top", "right"]].set_visible(False)
