import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.drawn import DrawnBatches, ShuffledBatches
from regard.data.plan import BatchPosition


def test_a_position_always_holds_the_same_and_no_other_does() -> None:
    batches = DrawnBatches(lambda draw, count: tuple(draw.random(count)), examples=10, batch=4)
    walked = [item for _, item in zip(range(7), batches.walk(), strict=False)]
    assert batches.epoch() == (3, 12)
    assert len({item for _, item in walked}) == 7
    position, item = walked[4]
    assert position == BatchPosition(epoch=1, index=1)
    assert batches.at(position) == item
    assert next(batches.walk(position)) == (position, item)


def test_every_example_comes_once_an_epoch() -> None:
    batches = ShuffledBatches(lambda numbers, draw: numbers.tolist(), examples=7, batch=3)
    walked = [item for _, item in zip(range(6), batches.walk(), strict=False)]
    first, second = ([one for _, item in part for one in item] for part in (walked[:3], walked[3:]))
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second
    assert batches.in_order() == [[0, 1, 2], [3, 4, 5], [6]]


def test_what_is_drawn_beside_depends_on_the_position_alone() -> None:
    batches = ShuffledBatches(lambda numbers, draw: float(draw.random()), examples=4, batch=2)
    drawn = [batches.at(BatchPosition(epoch=epoch, index=at)) for epoch in (0, 1) for at in (0, 1)]
    assert len(set(drawn)) == 4
    assert batches.at(BatchPosition(epoch=1)) == drawn[2]


@pytest.mark.parametrize("kind", [DrawnBatches, ShuffledBatches])
def test_nothing_is_refused(kind: type) -> None:
    with pytest.raises(ConfigError, match="data: batch must be at least 1, but is 0"):
        kind(lambda *given: np.zeros(1), examples=3, batch=0)
