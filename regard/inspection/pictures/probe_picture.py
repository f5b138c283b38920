"""A plot of few-shot curves: the accuracy of a linear probe over the number of labeled examples."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from regard.inspection.pictures.style import INK, LINES, QUIET, finish, new_figure, plain_axes


def probe_picture(encoders: Sequence[Mapping[str, Any]], title: str = "") -> Figure:
    """A curve for each encoder with the 95 % interval of its mean; at the right, with all labels.

    `encoders` are as `ProbeReport.to_dict` has them.
    """
    figure = new_figure(7.2, 4.4)
    axes = figure.subplots()
    shots = [one["shots"] for one in encoders[0]["shots"]]
    end = len(shots)
    for encoder, color in zip(encoders, LINES * (len(encoders) // len(LINES) + 1), strict=False):
        means = [one["accuracy"] for one in encoder["shots"]]
        low, high = ([one["accuracy"] + sign * one["margin"] for one in encoder["shots"]] for sign in (-1, 1))
        axes.fill_between(range(end), low, high, color=color, alpha=0.18, linewidth=0)
        axes.plot(range(end), means, marker="o", markersize=4, color=color, linewidth=2, label=encoder["name"])
        axes.plot(
            [*range(end)[-1:], end], [*means[-1:], encoder["accuracy"]], color=color, linewidth=1.2, linestyle=":"
        )
        axes.plot([end], [encoder["accuracy"]], marker="D", markersize=5, color=color, linestyle="")
    plain_axes(axes)
    axes.set_xticks(range(end + 1), [*map(str, shots), "all"])
    axes.set_xlabel("labeled examples of each class", color=QUIET)
    axes.set_ylabel("accuracy, %", color=QUIET)
    axes.set_ylim(0, 100)
    axes.set_title(title or "What a linear probe reads from features", loc="left", color=INK, fontweight="bold")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return finish(figure)
