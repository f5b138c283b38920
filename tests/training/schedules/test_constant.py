import pytest

from regard.base.errors import ConfigError
from regard.training.schedules.constant import Constant


def test_it_stays_where_it_is() -> None:
    assert [Constant().share(step, []) for step in (1, 10, 10_000)] == [1, 1, 1]
    assert [Constant(warmup=4).share(step, []) for step in (1, 3, 4, 5)] == [0.25, 0.75, 1, 1]


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match="warmup must be at least 0"):
        Constant(-1)
