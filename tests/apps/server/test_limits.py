"""Limits that can be kept."""

import pytest

from regard.apps.server.limits import Limits
from regard.base.errors import ConfigError


@pytest.mark.parametrize("name", ["characters", "texts", "body_bytes", "explained", "queue", "requests", "seconds"])
def test_nothing_is_limited_to_nothing(name: str) -> None:
    with pytest.raises(ConfigError, match=f"limits: {name} must be at least"):
        Limits(**{name: 0})


def test_no_rate_is_any_rate() -> None:
    assert Limits(rate=0).rate == 0
    with pytest.raises(ConfigError, match="rate"):
        Limits(rate=-1)
