import pytest

from regard.base.errors import ConfigError
from regard.training.schedules.inverse_square_root import InverseSquareRoot


def test_it_is_the_paper_s_rate() -> None:
    width, warmup = 512, 4000
    schedule = InverseSquareRoot(warmup)
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert schedule.share(step, []) * (width * warmup) ** -0.5 == pytest.approx(paper, rel=1e-12)
    assert schedule.share(warmup, []) == 1


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match="warmup must be at least 1"):
        InverseSquareRoot(0)
