"""The sheet of all parts."""

import math

import pytest

from regard.attention.mask import MASKS
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS
from regard.inspection.pictures.gallery import COMPOSED, gallery_picture, sample_member, sections

NEED_TENSORS = {"edges", "matrix", "padding"}


def test_every_member_that_needs_no_tensor_is_shown() -> None:
    shown = {section.name: [tile.name.partition("(")[0] for tile in section.tiles] for section in sections()}
    assert shown["Masks"] == [name for name in MASKS.names if name not in NEED_TENSORS]
    assert shown["Positions"] == list(POSITIONS.names)
    assert shown["Normalizers"] == ["the logits", *NORMALIZERS.names]
    assert shown["Composed"] == list(COMPOSED)


def test_samples_can_be_written_as_they_are_named() -> None:
    name, part = sample_member(MASKS, "window", 16)
    assert name == "window(4)"
    assert MASKS.make(name) == part
    assert sample_member(MASKS, "padding", 16) is None
    assert sample_member(POSITIONS, "learned", 36)[0] == "learned(36)"


@pytest.mark.parametrize("columns", [3, 8])
def test_tiles_do_not_overlap_and_stay_on_the_sheet(columns: int) -> None:
    shown = sections()[:2]
    figure = gallery_picture(shown, columns)
    boxes = [ax.get_position() for ax in figure.axes]
    assert len(boxes) == sum(len(section.tiles) for section in shown)
    for index, box in enumerate(boxes):
        assert 0 <= box.x0 < box.x1 <= 1 + 1e-9
        assert 0 <= box.y0 < box.y1 <= 1
        for other in boxes[:index]:
            apart = (box.x0 - other.x1, other.x0 - box.x1, box.y0 - other.y1, other.y0 - box.y1)
            assert max(apart) > 0
    width, height = figure.get_size_inches()
    assert math.isclose(boxes[0].width * width, boxes[0].height * height)
