import resource

import pytest

from regard.base import room
from regard.base.errors import ConfigError
from regard.base.room import available_memory, check_memory


def test_what_is_free_is_told_and_a_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < available_memory() < 1 << 60
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 20, 1 << 20))
    assert available_memory() == 0


def test_what_needs_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "available_memory", lambda: 10**9)
    check_memory("model", 10**9, "make it smaller")
    with pytest.raises(ConfigError, match=r"model: needs about 2\.0 GB, but 1\.0 GB are free; make it smaller"):
        check_memory("model", 2 * 10**9, "make it smaller")
