"""Threads that each compute with one core."""

import threading

import pytest
import torch

from regard.decoding.workers import one_core, side_by_side


def test_results_are_in_order_and_threads_have_one_core() -> None:
    torch.set_num_threads(2)
    seen = set()
    both = threading.Barrier(2)

    def work(item: int) -> int:
        if item < 2:
            both.wait(timeout=30)  # two items at a time
        seen.add((threading.get_ident(), torch.get_num_threads()))
        return item * item

    try:
        assert side_by_side(work, range(20), 2) == [item * item for item in range(20)]
        assert len(seen) == 2
        assert {threads for _, threads in seen} == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_a_later_thread_begins_with_all_cores() -> None:
    torch.set_num_threads(2)
    try:
        side_by_side(lambda item: torch.get_num_threads(), range(4), 2)
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert found == [2]
    finally:
        torch.set_num_threads(1)


def test_one_worker_or_one_item_needs_no_thread() -> None:
    here = threading.get_ident()
    assert side_by_side(lambda _: threading.get_ident(), range(3), 1) == [here] * 3
    assert side_by_side(lambda _: threading.get_ident(), range(1), 4) == [here]
    assert side_by_side(lambda item: item, [], 4) == []


def test_an_error_ends_all() -> None:
    def work(item: int) -> int:
        if item == 1:
            raise ValueError("broken")
        return item

    with pytest.raises(ValueError, match="broken"):
        side_by_side(work, range(100), 2)


def test_one_core_for_a_while() -> None:
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="broken"), one_core():
            assert torch.get_num_threads() == 1
            raise ValueError("broken")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
