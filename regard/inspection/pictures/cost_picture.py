"""Quality against cost: a point for each of several settings, with its spread over seeds."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from regard.inspection.pictures.style import LINES, finish, new_figure, plain_axes

Costs = Mapping[str, Mapping[str, float]]
"""by what is measured, the value of each"""


def cost_picture(qualities: Mapping[str, tuple[float, float]], costs: Costs, metric: str) -> Figure:
    """A panel for each cost (time, memory, weights), with the mean quality of each of the settings and its spread.

    `qualities` has mean and standard deviation by name, `costs` the values by what is measured and by name.
    """
    figure = new_figure(3.4 * len(costs) + 0.6, 3.6)
    panels: Sequence[Any] = list(figure.subplots(1, len(costs), sharey=True, squeeze=False)[0])
    draw_costs(panels, qualities, costs, metric)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    return finish(figure)


def draw_costs(panels: Sequence[Any], qualities: Mapping[str, tuple[float, float]], costs: Costs, metric: str) -> None:
    """Draw quality against each cost, a panel each; where a cost is not known, there is no point."""
    for axes, (cost, values) in zip(panels, costs.items(), strict=True):
        for at, (name, (mean, spread)) in enumerate(qualities.items()):
            if name in values:
                color = LINES[at % len(LINES)]
                axes.errorbar(values[name], mean, yerr=spread or None, fmt="o", capsize=3, label=name, color=color)
        axes.set_xlabel(cost, fontsize=8.5)
        axes.margins(y=0.15)
        axes.set_xlim(0, 1.15 * max(values.values(), default=0) or 1)
        plain_axes(axes)
    panels[0].set_ylabel(metric)
