import pytest
import torch

from regard.base.errors import ConfigError
from regard.layers.dropout import Dropout, check_share


def test_nothing_is_dropped_outside_training() -> None:
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0).train()(x) is x


def test_the_expectation_is_kept() -> None:
    dropped = Dropout(0.25).train()(torch.ones(100_000))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="at least 0 and below 1"):
        Dropout(share)
    with pytest.raises(ConfigError, match=r"model\.dropout must be"):
        check_share("model.dropout", share)


def test_it_shows_its_share() -> None:
    assert repr(Dropout(0.3)) == "Dropout(share=0.3)"
