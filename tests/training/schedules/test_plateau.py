import pytest

from regard.base.errors import ConfigError
from regard.training.schedules.plateau import Plateau


def test_it_falls_when_nothing_gets_better() -> None:
    schedule = Plateau(factor=0.5, patience=2)
    scores = [1.0, 2.0, 2.0, 1.5, 1.0, 3.0, 2.0, 2.5, 2.9, 2.9]
    shares = [schedule.share(9, scores[:count]) for count in range(len(scores) + 1)]
    assert shares == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.125]


def test_it_warms_up_and_stops_at_its_floor() -> None:
    assert Plateau(warmup=4).share(1, []) == 0.25
    assert Plateau(patience=1, floor=0.3).share(1, [1.0] * 9) == 0.3


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match=r"factor must be between 0 and 1, but is 1\.5"):
        Plateau(factor=1.5)
    with pytest.raises(ConfigError, match="patience must be at least 1"):
        Plateau(patience=0)
