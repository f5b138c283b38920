"""The style of all pictures: colors, fonts and tick rules.

Both color maps decrease evenly in lightness (OKLab) from white, so that twice the weight looks twice as dark.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.text import Text

PAPER = "#ffffff"
INK = "#24273c"
QUIET = "#777c92"
LINE = "#d9dce5"
SEEN = "#3d4d9c"
UNSEEN = "#eceef4"
LINES = ("#3d4d9c", "#e48233", "#209993", "#ce4a72", "#cfae42", "#955dbc", "#61afda", "#478d4b")
"""colors of curves, in the order of use"""

_COOL = ("#ffffff", "#c5eaff", "#8fd2fe", "#66b6f7", "#4f99e6", "#447cce", "#3f60ad", "#394887", "#30335c")
_WARM = ("#ffffff", "#fddebc", "#f4bc89", "#e79b5f", "#d47c40", "#bb5f2d", "#9d4825", "#7b3624", "#562922")
WEIGHT_COLORS: Colormap = LinearSegmentedColormap.from_list("regard.weights", _COOL)
"""0 is white"""
SIGNED: Colormap = LinearSegmentedColormap.from_list("regard.signed", (*reversed(_WARM[1:]), *_COOL), N=257)
"""below 0 warm, 0 white, above 0 cool"""
BELOW: Colormap = LinearSegmentedColormap.from_list("regard.below", tuple(reversed(_WARM)))
"""for numbers that are at most 0; 0 is white"""
MASK: Colormap = LinearSegmentedColormap.from_list("regard.mask", (UNSEEN, SEEN))

_OTHER_SCRIPTS = (
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Arial Unicode MS",
    "Symbola",
)
_LONGEST_TOKEN = 24
_MOST_TICKS = 64


@cache
def fonts() -> tuple[str, ...]:
    """DejaVu Sans, which comes with matplotlib, then the machine's fonts for other scripts."""
    present = {font.name for font in fontManager.ttflist}
    return ("DejaVu Sans", *(name for name in _OTHER_SCRIPTS if name in present))


def new_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """An empty figure; sizes in inches."""
    figure = Figure(figsize=(width, height), dpi=160, facecolor=PAPER, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def spelled(token: str) -> str:
    """A token as a label: blanks and control characters made visible, the middle of long ones left out."""
    if not token:
        return "∅"
    if token.isspace():
        token = "".join({"\n": "⏎", "\t": "⇥", "\r": "␍"}.get(letter, "␣") for letter in token)
    token = "".join("�" if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in token)
    if len(token) > _LONGEST_TOKEN:
        half = (_LONGEST_TOKEN - 1) // 2
        return f"{token[:half]}…{token[-half:]}"
    return token


def tick_places(length: int, most: int = _MOST_TICKS) -> list[int]:
    """Which of `length` positions get a tick: all of them, or every 2nd, 5th, 10th, … so that at most `most` do."""
    step = 1
    for step in (factor * 10**power for power in range(12) for factor in (1, 2, 5)):
        if -(-length // step) <= most:
            break
    return list(range(0, length, step))


def label_axes(
    ax: Axes, rows: Sequence[str] | None = None, columns: Sequence[str] | None = None, *, inches: float = 5.0
) -> None:
    """Tokens, or positions where there are none, along both axes of a matrix; the keys on top, as one reads.

    `inches` says how long the shorter side is; on a short one fewer positions are written.
    """
    size = 8.5
    height, width = _extent(ax)
    numbers = max(2, int(inches / 0.215))
    across = tick_places(width, _MOST_TICKS if columns else numbers)
    down = tick_places(height, _MOST_TICKS if rows else numbers)
    names = [spelled(columns[place]) if columns else str(place) for place in across]
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xticks([place + 0.5 for place in across], names)
    ax.set_yticks([place + 0.5 for place in down], [spelled(rows[p]) if rows else str(p) for p in down])
    ax.tick_params(length=0, pad=4, labelsize=size, labelcolor=INK)
    if columns and max(map(len, names), default=0) > 3:
        for label in ax.get_xticklabels():
            label.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")
    ax.set_xlabel("key", color=QUIET, fontsize=size, labelpad=6)
    ax.set_ylabel("query", color=QUIET, fontsize=size, labelpad=6)


def bare(ax: Axes) -> None:
    """No frame and no ticks."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)


def plain_axes(ax: Axes, size: float = 8.5) -> None:
    """The frame of a curve: a base line, and quiet numbers."""
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.spines["bottom"].set_color(LINE)
    ax.grid(axis="y", color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, pad=5, labelsize=size, labelcolor=QUIET, labelfontfamily=fonts()[0])


def finish(figure: Figure) -> Figure:
    """Set the fonts of all texts and turn math off: a token like `$x$` is no formula."""
    for text in figure.findobj(Text):
        text.set_fontfamily(list(fonts()))
        text.set_parse_math(False)
    return figure


def _extent(ax: Axes) -> tuple[int, int]:
    bottom, top = ax.get_ylim()
    left, right = ax.get_xlim()
    return int(np.abs(top - bottom)), int(np.abs(right - left))
