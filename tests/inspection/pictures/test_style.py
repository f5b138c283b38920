"""Labels, ticks, fonts and colors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import Colormap

from regard.inspection.pictures.style import (
    BELOW,
    SIGNED,
    WEIGHT_COLORS,
    bare,
    finish,
    fonts,
    label_axes,
    new_figure,
    spelled,
    tick_places,
)


@pytest.mark.parametrize(
    ("token", "label"),
    [("cat", "cat"), ("", "∅"), (" ", "␣"), ("\n", "⏎"), ("a\x00b", "a�b"), ("x" * 30, "x" * 11 + "…" + "x" * 11)],
)
def test_tokens_become_labels_that_can_be_seen(token: str, label: str) -> None:
    assert spelled(token) == label


@given(st.text())
def test_a_label_is_never_empty_long_or_of_several_lines(token: str) -> None:
    label = spelled(token)
    assert 0 < len(label) <= 24
    assert "\n" not in label


@given(st.integers(1, 10**6), st.integers(2, 100))
def test_ticks_are_even_start_at_the_first_and_are_not_too_many(length: int, most: int) -> None:
    places = tick_places(length, most)
    assert places[0] == 0
    assert 1 <= len(places) <= most
    assert len(set(np.diff(places))) <= 1
    assert places[-1] < length


def lightness(colors: Colormap) -> np.ndarray:
    return colors(np.linspace(0, 1, 101))[:, :3] @ np.array([0.299, 0.587, 0.114])


def test_more_weight_is_always_darker_and_none_is_paper() -> None:
    assert WEIGHT_COLORS(0.0)[:3] == (1, 1, 1)
    assert (np.diff(lightness(WEIGHT_COLORS)) < 0).all()
    assert BELOW(1.0)[:3] == (1, 1, 1)
    assert (np.diff(lightness(BELOW)) > 0).all()
    assert lightness(SIGNED).argmax() == 50


def test_every_text_is_taken_by_the_letter_in_our_fonts() -> None:
    figure = new_figure(2, 2)
    ax = figure.add_subplot()
    ax.set_title("$x$")
    finish(figure)
    assert ax.title.get_fontfamily() == list(fonts())
    assert ax.title.get_parse_math() is False
    assert fonts()[0] == "DejaVu Sans"


def test_long_column_tokens_are_turned_and_short_ones_are_not() -> None:
    for tokens, turned in ((["a", "bc"], 0.0), (["a", "sleeping"], 45.0)):
        ax = new_figure(2, 2).add_subplot()
        ax.set(xlim=(0, 2), ylim=(1, 0))
        label_axes(ax, ["x"], tokens)
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {turned}


def test_bare_axes_have_no_ticks() -> None:
    ax = new_figure(2, 2).add_subplot()
    bare(ax)
    assert not len(ax.get_xticks())
    assert not any(spine.get_visible() for spine in ax.spines.values())
