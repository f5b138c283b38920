"""Figures hold the numbers that they were given, and are written in full or not at all."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from matplotlib.image import imread

from regard.attention.mask import MASKS
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS
from regard.base.errors import ConfigError, RegardError, ShapeError, UsageError
from regard.inspection.pictures.draw import heat_map, mask_picture, normalizer_picture, position_picture, save_figure
from regard.inspection.pictures.views import sizes_of


def drawn(figure: Figure, axes: int = 0) -> np.ndarray:
    """The matrix that a pair of axes shows."""
    return np.asarray(figure.axes[axes].collections[0].get_array())


def labels(figure: Figure, axis: str) -> list[str]:
    ax = figure.axes[0]
    return [label.get_text() for label in (ax.get_xticklabels() if axis == "x" else ax.get_yticklabels())]


def test_heat_map_shows_the_weights_with_queries_downward() -> None:
    weights = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
    figure = heat_map(weights, ["le", "chat"], ["the", "cat", "."], title="cross")
    np.testing.assert_allclose(drawn(figure), weights.numpy())
    assert labels(figure, "y") == ["le", "chat"]
    assert labels(figure, "x") == ["the", "cat", "."]
    bottom, top = figure.axes[0].get_ylim()
    assert bottom > top
    assert figure.axes[0].get_xlabel() == "key"
    assert figure.axes[0].get_ylabel() == "query"
    assert figure.axes[0].get_title(loc="left") == "cross"


def test_small_matrices_have_their_values_written_and_large_ones_a_scale() -> None:
    small = heat_map([[0.25, 0.75]])
    assert [text.get_text() for text in small.axes[0].texts] == [".25", ".75"]
    large = heat_map(np.full((30, 30), 0.5))
    assert not large.axes[0].texts
    assert len(large.axes[0].child_axes) == 1


def test_long_sequences_get_fewer_ticks_and_no_endless_figure() -> None:
    tokens = [f"t{index}" for index in range(300)]
    figure = heat_map(np.zeros((300, 300)), tokens, tokens)
    assert len(labels(figure, "x")) <= 64
    assert labels(figure, "x")[1] == tokens[figure.axes[0].get_xticks()[1].astype(int)]
    assert max(figure.get_size_inches()) < 20


@pytest.mark.parametrize("weights", [np.zeros(3), np.zeros((2, 0)), np.zeros((1, 2, 2)), [[float("nan")]]])
def test_what_is_no_matrix_is_refused(weights: object) -> None:
    with pytest.raises(ShapeError):
        heat_map(weights)


def test_tokens_must_fit() -> None:
    with pytest.raises(ShapeError, match="1 tokens for 2 rows"):
        heat_map(np.zeros((2, 2)), ["a"], ["a", "b"])


def test_mask_picture_shows_the_mask() -> None:
    figure = mask_picture(MASKS.make("causal & window(3)"), 9, title="local")
    np.testing.assert_array_equal(drawn(figure), np.tri(9) - np.tri(9, k=-3))
    assert any("24 of 81 pairs (30%)" in text.get_text() for text in figure.axes[0].texts)


def test_a_mask_that_differs_by_sequence_gets_a_panel_for_each() -> None:
    mask = MASKS.get("padding")(lengths=torch.tensor([2, 4]))
    figure = mask_picture(mask, 4)
    assert drawn(figure, 0).sum() == 8
    assert drawn(figure, 1).sum() == 16


def test_positions_that_place_vectors_show_them_and_how_they_meet() -> None:
    figure = position_picture(POSITIONS.make("sinusoidal"), 10, sizes_of(8, 1))
    pairs, vectors = drawn(figure, 0), drawn(figure, 1)
    assert vectors.shape == (10, 8)
    np.testing.assert_allclose(pairs, vectors @ vectors.T, atol=1e-6)


def test_a_bias_is_shown_head_by_head_on_one_scale() -> None:
    figure = position_picture(POSITIONS.make("alibi"), 6, sizes_of(8, 4))
    apart = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    for head, slope in enumerate((2**-2, 2**-4, 2**-6, 2**-8)):
        np.testing.assert_allclose(drawn(figure, head), -slope * apart, atol=1e-7)
        assert figure.axes[head].collections[0].get_clim() == (-1.25, 0.0)


def test_positions_that_turn_queries_and_keys_are_shown_by_distance() -> None:
    figure = position_picture(POSITIONS.make("rotary"), 12, sizes_of(16, 1))
    pairs = drawn(figure, 0)
    line = figure.axes[1].lines[0]
    np.testing.assert_allclose(np.diag(pairs), 1.0, atol=1e-6)
    assert list(line.get_xdata()) == list(range(-11, 12))
    np.testing.assert_allclose(line.get_ydata()[11:], pairs[0], atol=1e-5)


@pytest.mark.parametrize("name", [name for name in POSITIONS.names if name not in ("grid", "learned")])
def test_every_position_can_be_drawn(name: str) -> None:
    figure = position_picture(POSITIONS.make(name), 7, sizes_of(8, 2))
    assert np.abs(drawn(figure)).max() > 0


def test_normalizer_picture_has_a_line_for_each() -> None:
    names = ["softmax", "sparsemax", "top_k(2)"]
    figure = normalizer_picture({name: NORMALIZERS.make(name) for name in names}, slope=2, keys=9)
    lines = figure.axes[0].lines
    assert [line.get_label() for line in lines] == names
    logits = np.linspace(-2, 2, 9)
    np.testing.assert_allclose(lines[0].get_xdata(), logits)
    np.testing.assert_allclose(lines[0].get_ydata(), np.exp(logits) / np.exp(logits).sum(), atol=1e-6)
    assert np.count_nonzero(lines[2].get_ydata()) == 2


def test_sizes_below_the_least_are_refused() -> None:
    with pytest.raises(ConfigError, match="length must be at least 1"):
        mask_picture(MASKS.make("causal"), 0)
    with pytest.raises(UsageError, match="no normalizer"):
        normalizer_picture({})


def test_a_saved_picture_has_the_colors_of_its_cells(tmp_path: Path) -> None:
    path = save_figure(mask_picture(MASKS.make("causal"), 4), tmp_path / "a.png")
    pixels = (imread(path)[..., :3] * 255).round().astype(int)
    seen = (pixels == (0x3D, 0x4D, 0x9C)).all(-1).sum()
    unseen = (pixels == (0xEC, 0xEE, 0xF4)).all(-1).sum()
    assert seen / unseen == pytest.approx(10 / 6, rel=0.1)


def test_a_picture_is_the_same_whenever_it_is_written(tmp_path: Path) -> None:
    for ending in (".png", ".svg"):
        paths = [save_figure(heat_map([[0.5, 0.5]]), tmp_path / f"{name}{ending}") for name in "ab"]
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_tokens_of_any_script_are_written_without_warnings(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    tokens = ["$x$", "猫", "кот", "γάτα", "قط", "\x00\n", "a" * 300, ""]
    for ending in (".png", ".svg"):
        save_figure(heat_map(np.eye(8), tokens, tokens, title="$\\frac{"), tmp_path / f"a{ending}")
    assert not list(recwarn)


def test_failure_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"old")

    def half(self: Figure, file: object, **settings: object) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.raises(RegardError, match=r"a\.png.*disk is full|a\.png.*[Nn]o space left") as caught:
        save_figure(heat_map([[1.0]]), path)
    assert caught.value.exit_code == 1
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


def test_a_saved_file_has_the_usual_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    path = save_figure(heat_map([[1.0]]), os.fspath(tmp_path / "a.png"))
    assert path.stat().st_mode == plain.stat().st_mode
