"""One process is a single rank that needs no connection; ranks in several processes are tried in training."""

import pytest

from regard.base.ranks import ALONE, LostRankError, agreed_tensors, lost_ranks_named, shared, sharing


def test_alone_everything_is_its_own() -> None:
    assert ALONE.first
    assert ALONE.gather({"a": 1}) == [{"a": 1}]
    assert ALONE.agree([1, 2]) == [1, 2]
    assert ALONE.after(0, "work", lambda: "done") == "done"
    assert agreed_tensors(ALONE, {}) == {}
    ALONE.check_alike({"data": "x"})


def test_shared_work_keeps_its_order() -> None:
    with sharing(ALONE):
        assert shared(lambda item: item * 2, [3, 1, 2]) == [6, 2, 4]


def test_a_lost_connection_is_a_sentence() -> None:
    with pytest.raises(LostRankError, match="connection to another rank was lost"), lost_ranks_named():
        raise RuntimeError("Connection reset by peer")
