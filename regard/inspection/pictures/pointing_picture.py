"""A picture of how a pointer network answered: the points with the way through them, and what each step looked at."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from regard.base.errors import UsageError
from regard.inspection.pictures.style import INK, LINE, LINES, QUIET, WEIGHT_COLORS, bare, finish, new_figure

_MOST_STEPS = 15
_COLUMNS = 4


def pointing_picture(
    points: np.ndarray,
    positions: Sequence[int],
    looked_at: Float[Tensor, "steps choices"],
    *,
    truth: Sequence[int] = (),
    title: str = "",
) -> Figure:
    """The first panel shows the answer (and the right one, dotted, where it differs), the others the steps.

    In each step the darker a point, the more probable it was; the ring is the point that was chosen, and the line the
    way so far. `looked_at` has the end in its first column. At most 15 steps are drawn.
    """
    if points.shape[1] != 2:
        raise UsageError(f"picture: points must lie in the plane, but have {points.shape[1]} coordinates")
    steps = min(_MOST_STEPS, len(looked_at))
    columns = min(_COLUMNS, steps + 1)
    rows = -(-(steps + 1) // columns)
    figure = new_figure(2.4 * columns, 2.55 * rows + 0.5)
    panels: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
    low, span = points.min(0), float((points.max(0) - points.min(0)).max()) or 1.0
    for axes in panels:
        bare(axes)
        middle = (points.max(0) + low) / 2
        axes.set(aspect="equal")
        axes.set_xlim(middle[0] - 0.6 * span, middle[0] + 0.6 * span)
        axes.set_ylim(middle[1] - 0.6 * span, middle[1] + 0.6 * span)
    _draw_answer(panels[0], points, positions, truth)
    for step in range(steps):
        _draw_step(panels[step + 1], points, positions, looked_at[step].tolist(), step)
    figure.suptitle(title or "What each step looked at", color=INK, fontsize=11)
    return finish(figure)


def _draw_answer(axes: Axes, points: np.ndarray, positions: Sequence[int], truth: Sequence[int]) -> None:
    around = points[[*positions, positions[0]]] if positions else points[:0]
    if truth and list(truth) != list(positions):
        wanted = points[[*truth, truth[0]]]
        axes.plot(wanted[:, 0], wanted[:, 1], color=LINES[1], linewidth=1.2, linestyle=":", zorder=1)
    axes.fill(around[:, 0], around[:, 1], color=LINES[0], alpha=0.1, zorder=0)
    axes.plot(around[:, 0], around[:, 1], color=LINES[0], linewidth=1.4, zorder=2)
    axes.scatter(points[:, 0], points[:, 1], s=34, color=INK, zorder=3)
    for number, (x, y) in enumerate(points):
        axes.annotate(str(number), (x, y), (4, 4), textcoords="offset points", fontsize=7, color=QUIET)
    axes.set_title("the answer", color=QUIET, fontsize=9)


def _draw_step(axes: Axes, points: np.ndarray, positions: Sequence[int], weights: list[float], step: int) -> None:
    so_far = points[list(positions[:step])]
    axes.plot(so_far[:, 0], so_far[:, 1], color=LINE, linewidth=1.6, zorder=1)
    colors = WEIGHT_COLORS(weights[1:])
    axes.scatter(points[:, 0], points[:, 1], s=52, color=colors, edgecolors=LINE, linewidths=0.8, zorder=2)
    ended = step >= len(positions)
    chosen = weights[0] if ended else weights[1 + positions[step]]
    if not ended:
        at = points[positions[step]]
        axes.scatter([at[0]], [at[1]], s=120, facecolors="none", edgecolors=LINES[1], linewidths=1.6, zorder=3)
    named = "end" if ended else f"point {positions[step]}"
    axes.set_title(f"{step + 1}: {named}, {chosen:.2f}", color=QUIET, fontsize=9)
