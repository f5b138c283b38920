"""Requests that are worked on together: company, turns, limits, faults, and the end."""

import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

import pytest

from regard.apps.server.batcher import Batcher, BatchWindow
from regard.apps.server.messages import Refusal
from regard.apps.server.metrics import Metrics


@dataclass(frozen=True)
class Doubling:
    """Work that waits for its gate, remembers its batches, and fails on "bad"."""

    name: str = ""
    gate: threading.Event = field(default_factory=threading.Event, compare=False)
    reached: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0), compare=False)
    batches: list[list[str]] = field(default_factory=list, compare=False)

    def run(self, items: list[Any]) -> list[Any]:
        self.batches.append(items)
        self.reached.release()
        assert self.gate.wait(30)
        if "bad" in items:
            raise RuntimeError("bad")
        return [2 * item for item in items]

    def cost(self, item: str) -> int:
        return len(item)


def batcher(limit: int = 100, **window: Any) -> Batcher:
    return Batcher(Metrics(), limit, BatchWindow(**{"seconds": 0.0} | window))


def busy(made: Batcher, work: Doubling) -> Any:
    """The worker has its hands full with one request, until the gate opens."""
    first = made.submit(work, ["first"])
    assert work.reached.acquire(timeout=30)
    return first


def test_what_waits_is_worked_on_together_and_each_gets_its_own() -> None:
    made, work = batcher(), Doubling()
    first = busy(made, work)
    others = [made.submit(work, items) for items in (["a"], ["b", "c"], [])]
    work.gate.set()
    assert first.result(30) == ["firstfirst"]
    assert [other.result(30) for other in others] == [["aa"], ["bb", "cc"], []]
    assert work.batches == [["first"], ["a", "b", "c"]]
    made.close()


def test_the_window_stays_open_for_company_and_closes_when_all_are_there() -> None:
    made, work = batcher(seconds=30.0), Doubling()
    work.gate.set()
    made.clients = lambda: 2
    first = made.submit(work, ["a"])
    second = made.submit(work, ["b"])
    assert (first.result(20), second.result(20)) == (["aa"], ["bb"])
    assert work.batches == [["a", "b"]]
    made.close()


def test_requests_take_turns_so_that_a_long_one_does_not_hold_up_short_ones() -> None:
    made, work = batcher(items=3), Doubling()
    busy(made, work)
    long = made.submit(work, list("abcde"))
    short = made.submit(work, ["x"])
    work.gate.set()
    assert short.result(30) == ["xx"]
    assert long.result(30) == ["aa", "bb", "cc", "dd", "ee"]
    assert work.batches[1:] == [["a", "x", "b"], ["c", "d", "e"]]
    made.close()


def test_a_batch_is_not_more_than_is_good_but_at_least_one_item() -> None:
    made, work = batcher(cost=4), Doubling()
    busy(made, work)
    found = made.submit(work, ["aaa", "b", "ccc", "dddddddd", "e"])
    work.gate.set()
    found.result(30)
    assert work.batches[1:] == [["aaa", "b"], ["ccc"], ["dddddddd"], ["e"]]
    made.close()


def test_different_work_is_not_mixed_and_nobody_starves() -> None:
    made, gate = batcher(items=2), threading.Event()
    one, other = Doubling("one", gate), Doubling("other", gate)
    busy(made, one)
    long, short = made.submit(one, list("abcd")), made.submit(other, ["x"])
    seen: list[str] = []
    long.add_done_callback(lambda _: seen.append("long"))
    short.add_done_callback(lambda _: seen.append("short"))
    gate.set()
    assert (long.result(30), short.result(30)) == (["aa", "bb", "cc", "dd"], ["xx"])
    assert seen == ["short", "long"]
    made.close()


def test_past_its_limit_the_queue_refuses_at_once_and_goes_on() -> None:
    made, work = batcher(limit=2), Doubling()
    first = busy(made, work)
    waiting = [made.submit(work, [text]) for text in "ab"]
    with pytest.raises(Refusal) as refused:
        made.submit(work, ["c"])
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    work.gate.set()
    assert [one.result(30) for one in (first, *waiting)] == [["firstfirst"], ["aa"], ["bb"]]
    assert made.submit(work, ["d"]).result(30) == ["dd"]
    made.close()


def test_a_request_that_is_canceled_makes_room_and_is_never_worked_on() -> None:
    made, work = batcher(limit=1), Doubling()
    busy(made, work)
    gone = made.submit(work, ["gone"])
    assert gone.cancel()
    assert made.waiting == 0
    stays = made.submit(work, ["stays"])
    work.gate.set()
    assert stays.result(30) == ["staysstays"]
    assert work.batches == [["first"], ["stays"]]
    with pytest.raises(CancelledError):
        gone.result(0)
    made.close()


def test_one_who_leaves_while_being_served_disturbs_nobody() -> None:
    made, work = batcher(), Doubling()
    first = busy(made, work)
    assert first.cancel()
    work.gate.set()
    assert made.submit(work, ["a"]).result(30) == ["aa"]
    made.close()


def test_a_fault_is_only_for_those_who_caused_it() -> None:
    made, work = batcher(), Doubling()
    busy(made, work)
    good, bad, other = (made.submit(work, items) for items in (["a"], ["b", "bad"], ["c"]))
    work.gate.set()
    assert (good.result(30), other.result(30)) == (["aa"], ["cc"])
    with pytest.raises(RuntimeError, match="bad"):
        bad.result(30)
    assert made.submit(work, ["d"]).result(30) == ["dd"]
    made.close()


def test_closing_finishes_what_waits_and_takes_nothing_more() -> None:
    made, work = batcher(), Doubling()
    futures = [busy(made, work), made.submit(work, ["a"])]
    closing = threading.Thread(target=made.close)
    closing.start()
    while made.alive:
        pass
    with pytest.raises(Refusal) as refused:
        made.submit(work, ["b"])
    assert refused.value.status == 503
    work.gate.set()
    closing.join(30)
    assert [future.result(0) for future in futures] == [["firstfirst"], ["aa"]]


def test_what_is_prepared_is_prepared_in_the_thread_that_works() -> None:
    seen: list[str] = []
    made = Batcher(Metrics(), 1, prepare=lambda: seen.append(threading.current_thread().name))
    made.close()
    assert seen == ["regard-batcher"]
