import pytest
import torch

from regard.base.errors import ConfigError
from regard.training.schedules.cosine import Cosine


def test_it_is_torch_cosine_annealing() -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20, eta_min=0.1)
    schedule = Cosine(steps=25, warmup=5, floor=0.1)
    for step in range(6, 26):
        optimizer.step()
        reference.step()
        assert schedule.share(step, []) == pytest.approx(reference.get_last_lr()[0], abs=1e-9)


def test_it_warms_up_and_stays_at_its_floor() -> None:
    schedule = Cosine(steps=20, warmup=4, floor=0.25)
    assert [schedule.share(step, []) for step in (1, 2, 4)] == [0.25, 0.5, 1]
    assert schedule.share(12, []) == pytest.approx(0.625)
    assert schedule.share(20, []) == schedule.share(999, []) == 0.25


def test_unless_set_its_steps_are_those_of_the_training() -> None:
    assert Cosine(warmup=4).over(20) == Cosine(steps=20, warmup=4)
    assert Cosine(steps=9).over(20) == Cosine(steps=9)
    short = Cosine(warmup=10).over(5)
    assert [short.share(step, []) for step in (1, 5)] == [0.1, 0.5]
    with pytest.raises(ConfigError, match="must know how many steps"):
        Cosine().over(None)
    with pytest.raises(ConfigError, match="must know how many steps"):
        Cosine().share(1, [])


def test_it_remarks_on_steps_that_do_not_fit_the_training() -> None:
    assert Cosine(warmup=4).remark(20) is Cosine(steps=20).remark(20) is Cosine(steps=30).remark(20) is None
    assert "rate is 0 from step 9 on" in (Cosine(steps=9).remark(20) or "")
    assert "rate is 0.1 of its highest from step 9 on" in (Cosine(steps=9, floor=0.1).remark(20) or "")
    assert "rate is 0 from step 9 on" in (Cosine(steps=9).remark(None) or "")
    assert "the warm-up (10 steps) does not end before" in (Cosine(warmup=10).remark(5) or "")


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match=r"steps \(4\) must be more than warmup \(4\)"):
        Cosine(steps=4, warmup=4)
