import signal
import threading

import pytest

from regard.training.interrupt import Interrupted, Signals


def test_a_request_waits_for_the_check() -> None:
    with Signals() as signals:
        signals.check()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Interrupted, match=r"training was stopped by a request to end$") as raised:
            signals.check()
    assert (raised.value.number, raised.value.exit_code) == (15, 143)
    assert "after step 7; the run is saved, start it again" in str(Interrupted(signal.SIGINT, 7))


def test_work_that_can_be_dropped_is_dropped_at_once() -> None:
    reached = []
    with Signals() as signals:
        with pytest.raises(Interrupted), signals.at_once():
            signal.raise_signal(signal.SIGINT)
            reached.append("after")
        with pytest.raises(Interrupted), signals.at_once():
            reached.append("again")
    assert reached == []


def test_the_second_request_acts_as_ever() -> None:
    with Signals():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back_and_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        handler = signal.getsignal(signal.SIGTERM)
        with Signals() as signals:
            assert signal.getsignal(signal.SIGTERM) != handler
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            signal.raise_signal(signal.SIGHUP)
            assert signals.received is None
        assert signal.getsignal(signal.SIGTERM) == handler
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_has_no_signals() -> None:
    failures: list[BaseException] = []

    def train() -> None:
        try:
            with Signals() as signals:
                signals.check()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert failures == []
