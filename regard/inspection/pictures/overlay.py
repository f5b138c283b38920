"""Attention drawn over a picture: what a place, or the class token, attends to in every layer and head."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from regard.inspection.explanation.seeing import Seen, SeenLayer, as_bytes
from regard.inspection.pictures.style import INK, LINES, QUIET, bare, finish, new_figure, spelled

_MOST_HEADS = 12
_MARK = LINES[1]
_HEAT = LinearSegmentedColormap.from_list("regard.heat", ("#ffffff00", "#66b6f7cc", "#3f60adee", "#30335cff"))
"""weights over a gray picture; 0 is clear"""


def overlay_picture(seen: Seen, at: tuple[int, int] | None = None, title: str = "") -> Figure:
    """The picture, the rollout over layers, and small multiples of all layers and heads for the pixel `at`.

    Without `at`, the attention of the class token is shown where there is one, else that of the middle. At most twelve
    heads of a layer are drawn. In each panel the darkest cell has the largest weight, which stands below it.
    """
    if at is None and not seen.layers[0].has_class_token:
        at = seen.pixels.shape[1] // 2, seen.pixels.shape[2] // 2
    heads = max(min(_MOST_HEADS, layer.heads) for layer in seen.layers)
    across, down = max(heads, 3), len(seen.layers) + 2
    figure = new_figure(0.95 * across + 1.1, 1.12 * down + 0.5)
    grid = figure.add_gridspec(down, across)
    first = figure.add_subplot(grid[:2, : (across + 1) // 2])
    _picture(first, seen, gray=False)
    first.set_title(_answer(seen), color=INK, fontsize=9, loc="left")
    if at is not None:
        _mark(first, seen, seen.layers[0], at)
    rolled = figure.add_subplot(grid[:2, (across + 1) // 2 :])
    _picture(rolled, seen)
    _cells(rolled, seen, seen.rollout().numpy())
    rolled.set_title("rollout over layers", color=QUIET, fontsize=9, loc="left")
    for number, layer in enumerate(seen.layers):
        maps = layer.of_cell(seen.cell(layer, at)).numpy()
        for head in range(min(_MOST_HEADS, layer.heads)):
            axes = figure.add_subplot(grid[number + 2, head])
            _picture(axes, seen)
            _cells(axes, seen, maps[head])
            if at is not None:
                _mark(axes, seen, layer, at)
            if head == 0:
                axes.set_ylabel(f"layer {number + 1}", color=QUIET, fontsize=8)
            axes.set_xlabel(f"{maps[head].max():.2f}", color=QUIET, fontsize=6.5, labelpad=2)
    whose = "the class token" if at is None else f"the patch at row {at[0]}, column {at[1]}"
    figure.suptitle(title or f"What {whose} attends to; columns are heads", color=INK, fontsize=10, x=0.02, ha="left")
    return finish(figure)


def _answer(seen: Seen) -> str:
    label = seen.labeling.labels[0]
    return f"{spelled(label)}  {seen.labeling.probabilities[label]:.1%}"


def _picture(axes: Axes, seen: Seen, gray: bool = True) -> None:
    """The picture itself; in gray, and pale, where weights are drawn over it."""
    pixels = as_bytes(seen.pixels).permute(1, 2, 0).numpy() / 255
    light = pixels @ np.array([0.299, 0.587, 0.114]) if pixels.shape[-1] == 3 else pixels[..., 0]
    height, width = light.shape
    shown = 0.5 + 0.5 * light if gray else pixels if pixels.shape[-1] == 3 else light
    axes.imshow(shown, cmap="gray", vmin=0, vmax=1, extent=(0, width, height, 0), interpolation="nearest")
    bare(axes)


def _cells(axes: Axes, seen: Seen, values: NDArray[np.floating]) -> None:
    height, width = seen.pixels.shape[1:]
    high = max(float(values.max()), 1e-12)
    axes.imshow(values, cmap=_HEAT, vmin=0, vmax=high, extent=(0, width, height, 0), interpolation="nearest")


def _mark(axes: Axes, seen: Seen, layer: SeenLayer, at: tuple[int, int]) -> None:
    """A frame around the cell in which a pixel lies."""
    cell, (height, width) = seen.cell(layer, at) or 0, seen.pixels.shape[1:]
    down, right = height / layer.sight.rows, width / layer.sight.columns
    row, column = divmod(cell, layer.sight.columns)
    axes.add_patch(Rectangle((column * right, row * down), right, down, fill=False, edgecolor=_MARK, linewidth=1.4))
