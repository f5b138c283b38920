"""A plot of BLEU by source length, which shows a bottleneck."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from regard.inspection.pictures.style import INK, QUIET, new_figure
from regard.metrics.by_length import percent_of

LINE_COLORS = ("#3b4a9b", "#c8642d", "#5b9aa0", "#8a5a9e", "#7a7d8c", "#a23b4e")


def length_picture(groups: Sequence[str], scores: Mapping[str, Sequence[float]], title: str = "") -> Figure:
    """BLEU over source length, a line for each model; below, as a percentage of the first model's."""
    (_, most), *others = scores.items()
    figure = new_figure(7.2, 6.4 if others else 4.2)
    heights = [2, 1] if others else [1]
    axes, *below = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    colors = dict(zip(scores, LINE_COLORS * (len(scores) // len(LINE_COLORS) + 1), strict=False))
    for name, values in scores.items():
        axes.plot(range(len(groups)), values, marker="o", color=colors[name], label=name, linewidth=2)
    for name, values in others:
        below[0].plot(range(len(groups)), percent_of(values, most), marker="o", color=colors[name], linewidth=2)
    for one, label in zip((axes, *below), ("BLEU", "% of the first"), strict=False):
        one.spines[["top", "right"]].set_visible(False)
        one.grid(axis="y", color=QUIET, alpha=0.25)
        one.set(ylabel=label, ylim=(0, 1.05 * one.get_ylim()[1]))
    axes.set_title(title or "BLEU by the length of the source", loc="left", color=INK, fontweight="bold")
    axes.legend(frameon=False)
    (axes, *below)[-1].set_xticks(range(len(groups)), groups)
    (axes, *below)[-1].set_xlabel("words in the source")
    return figure
