"""Which process this is; what is wrong in the environment is tried in test_joining.py."""

import pytest

from regard.base.world import number_of, own_rank, world_size


def test_a_process_has_the_number_that_torchrun_gave_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "3")
    assert (world_size(), own_rank()) == (4, 3)
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert (world_size(), own_rank()) == (1, 0)


def test_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "")
    assert number_of("LOCAL_RANK", 7) == 7
