"""A picture of what a node of a graph attends to: the node in the middle, its neighbors around it, a panel per head."""

from math import cos, pi, sin

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regard.decoding.node_classifier import Neighborhood
from regard.inspection.pictures.style import INK, LINE, PAPER, QUIET, WEIGHT_COLORS, bare, finish, new_figure, spelled

_MOST_HEADS = 8
_MOST_NEIGHBORS = 18
"""more circles would overlap"""


def neighborhood_picture(seen: Neighborhood, title: str = "") -> Figure:
    """One circle of neighbors per attention head; the wider and darker an edge, the more attention it gets.

    At most eight heads and the 18 neighbors with the most attention are drawn.
    """
    heads = min(_MOST_HEADS, len(seen.weights))
    order = seen.weights.mean(0).argsort(descending=True)[:_MOST_NEIGHBORS].tolist()
    columns = min(4, heads)
    rows = -(-heads // columns)
    figure = new_figure(max(4.0, 2.9 * columns), 3.0 * rows + 0.6)
    for head, axes in enumerate(figure.subplots(rows, columns, squeeze=False).flat):
        bare(axes)
        axes.set(xlim=(-1.45, 1.45), ylim=(-1.35, 1.35), aspect="equal")
        if head >= heads:
            continue
        axes.set_title(f"head {head + 1}" if heads > 1 else "", color=QUIET, fontsize=9)
        for at, neighbor in enumerate(order):
            _edge(axes, seen, neighbor, float(seen.weights[head, neighbor]), 2 * pi * at / len(order) + pi / 2)
        axes.scatter([0], [0], s=640, color=INK, zorder=3)
        axes.text(0, 0, spelled(seen.node), color=PAPER, ha="center", va="center", fontsize=8, zorder=4)
    left_out = len(seen.neighbors) - len(order)
    below = f" ({left_out} more neighbors with less attention)" if left_out else ""
    figure.suptitle((title or f"What node {seen.node} attends to") + below, color=INK, fontsize=11)
    return finish(figure)


def _edge(axes: Axes, seen: Neighborhood, neighbor: int, weight: float, angle: float) -> None:
    x, y, name = cos(angle), sin(angle), seen.neighbors[neighbor]
    color = WEIGHT_COLORS(0.15 + 0.85 * weight)
    axes.plot([0, x], [0, y], color=color, linewidth=0.5 + 7 * weight, zorder=1, solid_capstyle="round")
    axes.scatter([x], [y], s=560, color=PAPER, edgecolors=INK if name == seen.node else LINE, zorder=2)
    label = "itself" if name == seen.node else spelled(name)
    axes.text(x, y, label, color=INK, ha="center", va="center", fontsize=7, zorder=4)
    axes.text(1.3 * x, 1.28 * y, f"{weight:.2f}", color=QUIET, ha="center", va="center", fontsize=7)
