"""A picture of what was read from a set: its elements, and how much attention the pooling paid to each."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from regard.base.errors import UsageError
from regard.inspection.pictures.style import INK, LINE, LINES, PAPER, QUIET, WEIGHT_COLORS, bare, finish, new_figure

_MOST = 32


def set_picture(
    elements: np.ndarray,
    weights: Float[Tensor, "heads seeds size"],
    shape: tuple[int, int] | None = None,
    *,
    title: str = "",
) -> Figure:
    """A column for each element: the element, as a picture of `shape` or as numbers, and a bar for each head below.

    The weights are the mean over the seeds. At most 32 elements are drawn.
    """
    size, heads = min(_MOST, len(elements)), len(weights)
    if not size:
        raise UsageError("picture: the set is empty")
    if shape is not None and shape[0] * shape[1] != elements.shape[1]:
        raise UsageError(f"picture: elements of {elements.shape[1]} numbers are no pictures of {shape[0]} × {shape[1]}")
    paid = weights.mean(1).numpy()
    figure = new_figure(max(4.5, 0.95 * size + 1.0), 3.6)
    above, below = figure.subplots(2, 1, height_ratios=[1, 1.7])
    bare(above)
    above.set(xlim=(-0.5, size - 0.5), ylim=(-0.5, 0.5), aspect="equal" if shape else "auto")
    for at in range(size):
        if shape is None:
            shown = "\n".join(f"{number:.3g}" for number in elements[at][:4])
            above.text(at, 0, shown, ha="center", va="center", color=INK, fontsize=9)
            continue
        above.imshow(
            elements[at].reshape(shape),
            extent=(at - 0.42, at + 0.42, -0.42, 0.42),
            cmap="Greys",
            interpolation="nearest",
        )
    above.set(xlim=(-0.5, size - 0.5), ylim=(-0.5, 0.5))
    wide = 0.8 / heads
    for head in range(heads):
        places = np.arange(size) - 0.4 + wide * (head + 0.5)
        below.bar(places, paid[head, :size], 0.9 * wide, color=LINES[head % len(LINES)], label=f"head {head + 1}")
    below.set(xlim=(-0.5, size - 0.5), facecolor=PAPER)
    below.set_xticks([])
    below.spines[["top", "right", "left"]].set_visible(False)
    below.spines["bottom"].set_color(LINE)
    below.tick_params(length=0, labelsize=8, labelcolor=QUIET)
    below.set_ylabel("attention", color=QUIET, fontsize=8.5)
    if np.allclose(paid.sum(1), 1.0, atol=1e-3):  # weights that sum to something else have no even share
        below.axhline(1 / len(elements), color=WEIGHT_COLORS(0.4), linewidth=0.8, linestyle=":")
    below.legend(
        frameon=False, fontsize=8, labelcolor=QUIET, ncols=heads, loc="upper center", bbox_to_anchor=(0.5, -0.02)
    )
    figure.suptitle(title or "What was read from each element", color=INK, fontsize=11)
    return finish(figure)
