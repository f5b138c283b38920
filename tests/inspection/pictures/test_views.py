"""Parts as arrays."""

import numpy as np
import pytest
import torch

from regard.attention.mask import MASKS
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS, Position
from regard.base.errors import UsageError
from regard.inspection.pictures.views import sizes_of, view_mask, view_normalizer, view_position


def test_a_mask_is_one_panel_unless_sequences_differ() -> None:
    np.testing.assert_array_equal(view_mask(MASKS.make("causal"), 5), np.tri(5, dtype=bool)[None])
    padding = MASKS.get("padding")
    assert view_mask(padding(lengths=torch.tensor([2, 2])), 3).shape == (1, 3, 3)
    assert view_mask(padding(lengths=torch.tensor([2, 3])), 3).shape == (2, 3, 3)


def test_vectors_put_beside_are_shown_without_what_they_stand_beside() -> None:
    part = POSITIONS.make("sinusoidal(join='concatenate', layers='every', width=6)")
    beside = view_position(part, 5, sizes_of(8, 2)).vectors
    added = view_position(POSITIONS.make("sinusoidal"), 5, sizes_of(6, 1)).vectors
    np.testing.assert_allclose(beside, added)


def test_vectors_added_to_each_head_are_shown_side_by_side() -> None:
    view = view_position(POSITIONS.make("sinusoidal(layers='every')"), 5, sizes_of(4, 2))
    whole = view_position(POSITIONS.make("sinusoidal"), 5, sizes_of(8, 1)).vectors
    np.testing.assert_allclose(view.vectors, whole)


def test_fresh_weights_are_the_same_each_time_and_leave_the_generator_alone() -> None:
    before = torch.get_rng_state()
    views = [view_position(POSITIONS.make("learned(5)"), 5, sizes_of(8, 2)) for _ in range(2)]
    assert views[0].learned
    np.testing.assert_array_equal(views[0].pairs, views[1].pairs)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_bias_is_given_for_every_head() -> None:
    assert view_position(POSITIONS.make("shaw"), 5, sizes_of(8, 3)).pairs.shape == (3, 5, 5)
    assert not view_position(POSITIONS.make("alibi"), 5, sizes_of(8, 3)).learned


def test_positions_that_do_nothing_cannot_be_seen() -> None:
    with pytest.raises(UsageError, match="Position changes neither vectors nor logits"):
        view_position(Position(), 5, sizes_of(8, 1))


def test_weights_of_a_normalizer() -> None:
    logits = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(view_normalizer(NORMALIZERS.make("hard"), logits), [0, 0, 0, 0, 1])
    ratio = view_normalizer(NORMALIZERS.make("ratio"), logits)
    np.testing.assert_allclose(ratio, np.array([0, 0.5, 1, 1.5, 2]) / 5, atol=1e-6)
