import numpy as np
import pytest
import torch

from regard.base.config import from_dict
from regard.base.errors import ConfigError
from regard.data.two_views import ViewBatch, Viewing

STILL = {"shift": 0.0, "stretch": 0.0, "gain": 0.0, "noise": 0.0, "mask": 0.0}
DRAW = np.random.default_rng(1)
SIGNALS = DRAW.random((6, 20)).astype(np.float32)
PICTURES = DRAW.random((6, 30)).astype(np.float32)


def test_nothing_changes_without_amounts() -> None:
    np.testing.assert_allclose(Viewing(**STILL)(SIGNALS, (20,), DRAW), SIGNALS, atol=1e-6)
    np.testing.assert_allclose(Viewing(**STILL)(PICTURES, (5, 6), DRAW), PICTURES, atol=1e-6)


def test_each_amount_does_what_it_says() -> None:
    bump = np.zeros((200, 20), np.float32)
    bump[:, 10] = 1.0
    middle = Viewing(**(STILL | {"shift": 0.2}))(bump, (20,), DRAW) @ np.arange(20)
    assert 6 <= middle.min() < 8
    assert 12 < middle.max() <= 14
    gained = Viewing(**(STILL | {"gain": 0.5}))(bump, (20,), DRAW)[:, 10]
    assert 0.5 <= gained.min() < 0.6
    assert 1.4 < gained.max() <= 1.5
    ones = np.ones((200, 20), np.float32)
    assert ((Viewing(**(STILL | {"mask": 0.25}))(ones, (20,), DRAW) == 0).sum(1) == 5).all()
    assert Viewing(**(STILL | {"noise": 0.3}))(ones, (20,), DRAW).std() == pytest.approx(0.3, abs=0.02)
    wide = Viewing(**(STILL | {"stretch": 0.5}))(np.tile(np.linspace(0, 1, 20, dtype=np.float32), (50, 1)), (20,), DRAW)
    assert wide[:, 9:11].mean() == pytest.approx(0.5, abs=0.02), "the middle stays"
    assert not np.allclose(wide[0], wide[1])


def test_what_goes_out_comes_in_at_the_other_end() -> None:
    bump = np.zeros((200, 20), np.float32)
    bump[:, 10] = 1.0
    settings = STILL | {"shift": 0.9}
    np.testing.assert_allclose(Viewing(**settings, edges="wrapped")(bump, (20,), DRAW).sum(1), 1, atol=1e-5)
    assert Viewing(**settings)(bump, (20,), DRAW).sum(1).min() == 0
    with pytest.raises(ConfigError, match="edges"):
        from_dict({"edges": "round"}, Viewing)


def test_a_tilt_is_a_straight_line() -> None:
    lines = Viewing(**(STILL | {"tilt": 0.5}))(np.zeros((200, 20), np.float32), (20,), DRAW)
    rise = lines[:, -1] - lines[:, 0]
    assert -0.5 <= rise.min() < -0.4 and 0.4 < rise.max() <= 0.5
    np.testing.assert_allclose(np.diff(lines, n=2, axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(lines.mean(1), 0, atol=1e-6)


def test_a_trend_is_removed_as_a_fitted_line_is() -> None:
    rows = SIGNALS + np.linspace(-1, 2, 20, dtype=np.float32)
    left = Viewing(**STILL, trend="removed")(rows, (20,), DRAW)
    for row, found in zip(rows.astype(np.float64), left, strict=True):
        slope, _ = np.polyfit(np.arange(20), row, 1)
        np.testing.assert_allclose(found, row - slope * (np.arange(20) - 9.5), atol=1e-5)
    plane = (np.arange(5)[:, None] * 0.3 - np.arange(6) * 0.2).astype(np.float32)
    flat = Viewing(**STILL, trend="removed")(plane.reshape(1, 30), (5, 6), DRAW)
    np.testing.assert_allclose(flat, plane.mean(), atol=1e-5)
    with pytest.raises(ConfigError, match="trend"):
        from_dict({"trend": "gone"}, Viewing)


def test_views_follow_from_the_draw() -> None:
    one, other, third = (Viewing()(PICTURES, (5, 6), np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, other)
    assert not np.allclose(one, third)


def test_a_batch_is_not_split() -> None:
    batch = ViewBatch(torch.zeros(4, 2), torch.ones(4, 2))
    assert batch.shares(3) == [batch]
    assert batch.to("cpu").count == batch.size == 4


def test_what_makes_no_view_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"views: stretch \(1.0\) and mask \(0.1\) must be below 1"):
        Viewing(stretch=1.0)
    with pytest.raises(ConfigError, match="must be signals or pictures of one channel"):
        Viewing()(PICTURES, (5, 3, 2), DRAW)
