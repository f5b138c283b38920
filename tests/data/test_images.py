import itertools

import numpy as np
import pytest
import torch

from regard.base.config import from_dict
from regard.base.errors import ConfigError
from regard.data.images import Augment, ImageBatches, ImageBatchSettings, Shades, brightness
from regard.data.plan import BatchPosition

PIXELS = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (10, 1, 6, 6), dtype=np.uint8))


def batches(**settings: object) -> ImageBatches:
    labels = torch.arange(10)
    return ImageBatches(
        PIXELS, labels, labels, torch.ones(10), Shades.of(PIXELS), ImageBatchSettings(pictures=4), Augment(**settings)
    )


def test_an_epoch_has_every_picture_once_in_an_order_of_its_own() -> None:
    made = batches()
    assert made.epoch() == (3, 10)
    seen = [item.labels.tolist() for _, item in itertools.islice(made.walk(), 6)]
    first, second = ([label for labels in part for label in labels] for part in (seen[:3], seen[3:]))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second


def test_any_position_is_reached_at_once_with_the_same_changes() -> None:
    made = batches(shift=2.0, crop=0.5, turn=20.0, flip="sides")
    walked = dict(itertools.islice(made.walk(), 5))
    at = BatchPosition(epoch=1, index=1)
    assert torch.equal(walked[at].pictures, batches(shift=2.0, crop=0.5, turn=20.0, flip="sides").at(at).pictures)
    assert not torch.equal(walked[at].pictures, batches().at(at).pictures)


def test_normalized_pictures_have_mean_zero_and_deviation_one() -> None:
    whole = torch.cat([item.pictures for item in batches().all()])
    assert abs(float(whole.mean())) < 1e-5
    assert float(whole.std(correction=0)) == pytest.approx(1, abs=1e-5)


def test_a_channel_that_never_varies_stays_finite() -> None:
    shades = Shades.of(torch.full((2, 3, 4, 4), 51, dtype=torch.uint8))
    assert shades.mean == pytest.approx((0.2, 0.2, 0.2))
    assert shades.deviation == (1.0, 1.0, 1.0)


def test_a_shift_moves_by_whole_pixels() -> None:
    pictures = brightness(PIXELS).repeat(20, 1, 1, 1)
    moved = Augment(shift=1.0)(pictures, BatchPosition())
    around = torch.nn.functional.pad(pictures, (1, 1, 1, 1), mode="replicate")
    ways = {}
    for row, column in itertools.product(range(3), range(3)):
        cut = around[:, :, row : row + 6, column : column + 6]
        ways[row, column] = (moved - cut).abs().amax((1, 2, 3)) < 1e-5
    assert torch.stack(list(ways.values())).any(0).all()
    assert all(found.any() for found in ways.values())


def test_a_flip_swaps_the_sides_of_about_half() -> None:
    pictures = brightness(PIXELS).repeat(20, 1, 1, 1)
    made = Augment(flip="sides")(pictures, BatchPosition())
    same = (made - pictures).abs().amax((1, 2, 3)) < 1e-5
    swapped = (made - pictures.flip(-1)).abs().amax((1, 2, 3)) < 1e-5
    assert (same | swapped).all()
    assert 70 < int(same.sum()) < 130


def test_a_crop_stays_within_the_picture() -> None:
    ramp = torch.linspace(0, 1, 12).expand(50, 1, 12, 12).contiguous()
    made = Augment(crop=0.25)(ramp, BatchPosition())
    steps = made[:, 0, 0].diff().mean(-1) * 11
    assert 0.45 <= float(steps.min()) <= 0.62
    assert 0.9 <= float(steps.max()) <= 1.01
    assert float(made.min()) >= 0
    assert float(made.max()) <= 1


def test_a_quarter_turn_would_turn() -> None:
    picture = brightness(PIXELS[:1])
    made = Augment(turn=1e-9, seed=1)(picture, BatchPosition())
    assert torch.allclose(made, picture, atol=1e-5)
    turned = Augment(turn=45.0)(picture, BatchPosition())
    assert not torch.allclose(turned, picture, atol=1e-2)


def test_shares_hold_every_row_once() -> None:
    item = batches().all()[0]
    parts = item.shares(3)
    assert [part.count for part in parts] == [2, 1, 1]
    assert torch.equal(torch.cat([part.pictures for part in parts]), item.pictures)
    assert len(item.shares(9)) == 4


def test_all_questions_about_a_picture_are_in_one_batch() -> None:
    which = torch.tensor([3, 1, 3, 3, 0])
    made = ImageBatches(
        PIXELS, which, torch.arange(5), torch.ones(5), Shades.of(PIXELS), ImageBatchSettings(pictures=2),
        questions=torch.eye(5),
    )  # fmt: skip
    assert made.epoch() == (2, 5)
    seen = []
    for _, item in itertools.islice(made.walk(), 2):
        assert item.which is not None
        for share in (item, *item.shares(2)):
            assert share.which is not None
            expected = Shades.of(PIXELS).normalized(brightness(PIXELS[which[share.labels]]))
            assert torch.equal(share.pictures[share.which], expected)
            assert torch.equal(share.questions, torch.eye(5)[share.labels])
        seen += item.labels.tolist()
    assert sorted(seen) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"crop": 0.0}, "crop must be above 0 and at most 1"),
        ({"shift": -1.0}, "shift must be at least 0"),
        ({"flip": "up"}, "'up'"),
    ],
)
def test_wrong_settings(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        from_dict(settings, Augment)
    with pytest.raises(ConfigError, match="pictures must be at least 1"):
        ImageBatchSettings(pictures=0)
