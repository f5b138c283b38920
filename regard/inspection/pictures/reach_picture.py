"""A plot of how far back gradients reach."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from regard.inspection.pictures.style import INK, LINES, QUIET, new_figure


def reach_picture(reaches: Mapping[str, Sequence[float]], title: str = "") -> Figure:
    """The size of the gradient over the distance, a line for each model, on a logarithmic scale."""
    figure = new_figure(7.2, 4.2)
    axes = figure.subplots()
    for at, (name, values) in enumerate(reaches.items()):
        color = LINES[at % len(LINES)]
        axes.plot(range(1, len(values) + 1), values, color=color, label=name, linewidth=2)
    axes.set_yscale("log")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=QUIET, alpha=0.25)
    axes.set_title(title or "How far back gradients reach", loc="left", color=INK, fontweight="bold")
    axes.set_xlabel("tokens before the word that is predicted")
    axes.set_ylabel("mean size of the gradient")
    axes.legend(frameon=False)
    return figure
