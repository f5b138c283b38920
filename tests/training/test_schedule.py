import pytest

from regard.base.errors import ConfigError
from regard.training.schedule import SCHEDULES, warm
from regard.training.schedules.cosine import Cosine


def test_a_schedule_is_chosen_by_name() -> None:
    assert SCHEDULES.names == ("constant", "cosine", "inverse_square_root", "plateau")
    assert SCHEDULES.make("cosine(steps=10, warmup=2)") == Cosine(steps=10, warmup=2)
    assert SCHEDULES.make({"name": "cosine", "steps": 10}) == Cosine(steps=10)
    assert SCHEDULES.make("cosine") == Cosine()
    with pytest.raises(ConfigError, match="unknown 'cosin'"):
        SCHEDULES.make("cosin")


@pytest.mark.parametrize("spec", ["constant", "cosine(100)", "inverse_square_root(10)", "plateau"])
def test_every_share_is_between_nothing_and_all(spec: str) -> None:
    shares = [SCHEDULES.make(spec).share(step, [0.0] * (step // 10)) for step in range(1, 200)]
    assert all(0 <= share <= 1 for share in shares)
    assert max(shares) > 0.99


def test_most_schedules_do_not_ask_how_many_steps_there_are() -> None:
    for spec in ("constant", "inverse_square_root(10)", "plateau"):
        schedule = SCHEDULES.make(spec)
        assert schedule.over(5) == schedule.over(None) == schedule
        assert schedule.remark(5) is None


def test_warming_up_is_a_straight_line() -> None:
    assert [warm(step, 4) for step in (1, 2, 4, 9)] == [0.25, 0.5, 1.0, 1.0]
    assert warm(1, 0) == 1.0
