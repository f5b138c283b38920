"""The model of many ranks: what must hold, and a case by hand."""

import pytest

from regard.apps.scaling import StepCost


def cost(**changes: float) -> StepCost:
    plain = {"compute": 1.0, "update": 0.01, "gradient_bytes": 1e8, "bandwidth": 1e9, "latency": 0.0}
    return StepCost(**(plain | changes))


def test_one_rank_sends_nothing() -> None:
    assert cost().seconds(1) == pytest.approx(1.01)
    assert cost().speedup(1) == 1.0


def test_a_case_by_hand() -> None:
    # sending: 2 · 3/4 · 0.1 s = 0.15 s, hidden behind 2/3 of 0.25 s
    assert cost().seconds(4) == pytest.approx(0.25 + 0.01)
    # 16 ranks: 0.1875 s of sending, of which 2/3 · 0.0625 s are hidden
    assert cost().seconds(16) == pytest.approx(0.0625 + 0.01 + 0.1875 - 0.0625 * 2 / 3)


def test_more_ranks_pay_up_to_where_the_network_is_the_limit() -> None:
    slow, fast = cost(bandwidth=1e8), cost(bandwidth=1e11)
    assert slow.most() == 1
    assert cost().most() == 4
    assert fast.most() > 16
    assert fast.speedup(64) < 64
