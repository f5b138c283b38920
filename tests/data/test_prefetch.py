"""Made ahead, but otherwise as if it were not: same order, same errors, and an end that leaves nothing running."""

import threading
from collections.abc import Iterator
from itertools import count

import pytest

from regard.data.prefetch import Prefetch


def running() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "prefetch"]


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_the_order_stays(depth: int) -> None:
    assert list(Prefetch(range(50), depth)) == list(range(50))
    assert not running()


def test_items_are_made_ahead_but_not_too_many() -> None:
    made: list[int] = []
    enough = threading.Event()

    def items() -> Iterator[int]:
        for number in count():
            made.append(number)
            if number == 3:
                enough.set()
            yield number

    with Prefetch(items(), depth=3) as ahead:
        assert enough.wait(timeout=30)  # nothing was asked for, yet four are made: three ready, one at the door
        assert next(ahead) == 0
    assert len(made) <= 6  # three ready, one at the door, one more for the one taken, one while closing
    assert not running()


def test_an_error_comes_where_its_item_would_have() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise KeyError("broken")

    ahead = Prefetch(items(), depth=5)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(KeyError, match="broken"):
        next(ahead)
    with pytest.raises(StopIteration):
        next(ahead)
    assert not running()


def test_closing_ends_the_thread_that_waits_for_room() -> None:
    ahead = Prefetch(count(), depth=1)
    next(ahead)
    ahead.close()
    ahead.close()
    assert not running()
    with pytest.raises(StopIteration):
        next(ahead)


def test_closing_ends_a_thread_whose_error_finds_no_room() -> None:
    def items() -> Iterator[int]:
        yield from range(2)
        raise KeyError("late")

    Prefetch(items(), depth=1).close()
    assert not running()


def test_an_error_of_the_reader_ends_the_thread() -> None:
    with pytest.raises(ZeroDivisionError), Prefetch(count()) as ahead:
        1 / next(ahead)
    assert not running()
