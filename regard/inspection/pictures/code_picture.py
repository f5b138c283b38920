"""A picture of what a model of codes knows: inputs and what it makes of them, samples, and walks through its code."""

from contextlib import suppress

import numpy as np
from matplotlib.figure import Figure

from regard.base.errors import UsageError
from regard.decoding.code_model import CodeModel
from regard.inspection.pictures.style import INK, LINE, QUIET, bare, finish, new_figure

_MOST_ROWS = 10


def code_picture(opened: CodeModel, inputs: np.ndarray, *, traversed: int = _MOST_ROWS) -> Figure:
    """Rows of pictures: the inputs, the same made again, samples where the model has a prior, the way from the first
    input to the last on a straight line between their codes (interpolation), then traversals.

    A traversal moves one number of the first input's code from low to high and shows what comes of it; of all numbers,
    those that change the picture most are drawn, at most `traversed`.
    """
    if len(opened.shape) != 2:
        raise UsageError(f"picture: inputs must be pictures [height, width], but have the shape {list(opened.shape)}")
    count = len(inputs)
    rows = [("input", inputs), ("made again", opened.reconstruct(inputs))]
    with suppress(UsageError):  # there may be no prior to draw from
        rows.append(("made up", opened.sample(count)))
    if count > 1:
        rows.append(("between", opened.between(inputs[0], inputs[-1], steps=count)))
    walks = opened.traverse(inputs[0], steps=count)
    moved = np.abs(walks - walks[:, :1]).mean((1, 2))
    for at in np.argsort(-moved, kind="stable")[:traversed].tolist():
        rows.append((f"code {at}", walks[at]))
    figure = new_figure(0.62 * count + 1.2, 0.62 * len(rows) + 0.5)
    for axes, (name, pictures) in zip(figure.subplots(len(rows), 1, squeeze=False)[:, 0], rows, strict=True):
        bare(axes)
        axes.set_facecolor(LINE)
        strip = np.pad(pictures.reshape(-1, *opened.shape), ((0, 0), (1, 1), (1, 1)), constant_values=np.nan)
        axes.imshow(np.concatenate(list(strip), 1), cmap="Greys", vmin=0.0, vmax=1.0, interpolation="nearest")
        axes.set_ylabel(name, rotation=0, ha="right", va="center", color=QUIET, fontsize=8)
    figure.suptitle("What a code keeps", color=INK, fontsize=10)
    return finish(figure)
