import pytest

from regard.training.progress import Pace, Progress, StepWork


def test_a_silent_watcher_still_warns() -> None:
    progress = Progress()
    progress.resumed(3)
    progress.validated(3, {}, True)
    with pytest.warns(UserWarning, match="damaged"):
        progress.note("a file is damaged")


def test_the_pace_is_that_of_steps_alone() -> None:
    times = iter([0.0, 2.0, 4.0, 100.0, 102.0])
    pace = Pace(lambda: next(times))
    assert pace.per_second == pace.seconds_per_step == 0
    pace.tick(10)
    pace.tick(10)
    pace.resume()
    pace.tick(10)
    assert pace.per_second == pytest.approx(5.0)
    assert pace.seconds_per_step == pytest.approx(2.0)


def test_the_pace_follows_a_change() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    for seconds in [1.0] * 50 + [3.0] * 100:
        now += seconds
        pace.tick(6)
    assert pace.seconds_per_step == pytest.approx(3.0, rel=0.01)
    assert pace.per_second == pytest.approx(2.0, rel=0.01)


def test_the_work_of_a_step_is_a_mean_without_validations() -> None:
    times = iter([0.0, 2.0, 6.0, 100.0, 101.0])
    work = StepWork(lambda: next(times))
    work.tick()
    work.tick()
    assert work.taken() == pytest.approx(3.0)
    work.resume()
    work.tick()
    assert work.taken() == pytest.approx(1.0)
    assert work.taken() == 0
