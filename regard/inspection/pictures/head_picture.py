"""A heat map of how well each head aligns: layers downward, heads across, one panel for each shift."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from regard.alignment.head_choice import layer_label
from regard.alignment.heads import Ranking
from regard.inspection.pictures.panels import caption, few_enough_to_write, scale, weight_cells, write_values
from regard.inspection.pictures.style import INK, LINES, finish, label_axes, new_figure

_SHIFTS = ("when the token was predicted", "once the token was read")
_CELL = 0.44


def ranking_picture(ranking: Ranking, title: str = "") -> Figure:
    """A heat map of the scores for each shift; the best candidate is framed."""
    grids = [ranking.grid(shift) for shift in (0, 1)]
    layers, first = grids[0]
    tall, wide = first.shape
    figure = new_figure(2 * max(wide * _CELL, 2.4) + 2.4, max(tall * _CELL, 0.9) + 1.6)
    highest = max(float(scores.max()) for _, scores in grids)
    heads = [str(head) for head in range(1, wide)]
    for shift, (_, scores) in enumerate(grids):
        ax = figure.add_subplot(1, 2, shift + 1)
        mesh = weight_cells(ax, scores, limits=(0.0, highest))
        label_axes(ax, [layer_label(name) for name in layers] if shift == 0 else [""] * tall, [*heads, "all"])
        ax.set(xlabel=f"head, {_SHIFTS[shift]}", ylabel="")
        if shift == 1:
            ax.set_yticks([])
        if few_enough_to_write(scores):
            write_values(ax, mesh, scores)
        elif shift == 1:
            scale(ax, mesh)
        if shift == ranking.best.shift:
            _frame(ax, layers.index(ranking.best.heads[0][0]), _column(ranking, wide))
        caption(ax, [f"{ranking.best.measure},", f"on {ranking.pairs:,} pairs; 1 is best"] if shift == 0 else [])
    figure.axes[0].set_title(title, loc="left", fontsize=11.5, color=INK, fontweight="bold", pad=10)
    return finish(figure)


def _column(ranking: Ranking, wide: int) -> int:
    heads = ranking.best.heads
    return wide - 1 if len(heads) > 1 else heads[0][1]


def _frame(ax: Axes, row: int, column: int) -> None:
    ax.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=LINES[1], linewidth=2))
