"""Joining the ranks that torchrun has started: a roll call with a time limit, and one voice for errors.

`regard.base.world` says how processes are told their numbers. A process that is alone connects to nothing.
`REGARD_WAIT` is how many seconds ranks wait for each other at the start, by default 600.
"""

import itertools
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

from regard.base.errors import RegardError, UsageError
from regard.base.ranks import ALONE, LostRankError, Ranks, lost_ranks_named
from regard.base.world import number_of, own_rank, world_size

_WAIT = 600.0
_GROUP_WAIT = timedelta(hours=2)
"""the longest that ranks wait for each other in the middle of the work, such as for a validation"""
_PATIENCE = 1.5
"""seconds in which a rank that failed can speak before one that only lost its connection does"""
_stores: list[Any] = []
"""the store of all ranks, once this process is connected to it"""
_calls = itertools.count()
"""a process may train several times; every rank counts alike"""


@contextmanager
def joined_ranks(device: str = "cpu") -> Iterator[Ranks]:
    """Connect to the other ranks, if there are any; the connection ends with the block."""
    if dist.is_initialized():  # such as by Ray Train
        store = _apart(dist.distributed_c10d._get_default_store(), f"call-{next(_calls)}")
        yield Ranks(dist.get_rank(), dist.get_world_size(), number_of("LOCAL_RANK", 0), store)
        return
    if world_size() == 1:
        yield ALONE
        return
    ranks = _join()
    gpu = torch.device(device).type == "cuda"
    with lost_ranks_named():
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if gpu else "gloo",
            store=ranks.store,
            rank=ranks.rank,
            world_size=ranks.size,
            timeout=_GROUP_WAIT,
        )
    try:
        yield ranks
    finally:
        dist.destroy_process_group()


def own_device(device: str) -> str:
    """The device of this rank: `cuda` is the GPU with the rank's number on its machine; an error if it has none."""
    if device != "cuda" or world_size() == 1:
        return device
    local = number_of("LOCAL_RANK", 0)
    if local >= torch.cuda.device_count():
        raise UsageError(
            f"--device cuda: rank {number_of('RANK', 0)} is number {local} on its machine, which has "
            f"{torch.cuda.device_count()} GPUs; start as many ranks a machine as it has GPUs, or use --device cpu"
        )
    torch.cuda.set_device(local)
    return f"cuda:{local}"


def may_speak(error: BaseException | None = None) -> bool:
    """Whether this process prints an error: the first rank that asks does, so that there is one sentence, not forty."""
    if world_size() == 1:
        return True
    if isinstance(error, LostRankError):
        time.sleep(_PATIENCE)
    if not _stores and own_rank() == 0 and not _held():  # this rank was to hold the store, and does not
        return True
    try:
        store = _stores[0] if _stores else _connect(timedelta(seconds=5), host=False)
        return int(_apart(store, "errors").add("voice", 1)) == 1
    except (RuntimeError, ValueError, RegardError):  # the store ended with the rank that held it
        return number_of("RANK", 0) <= 1


def report_to_torchrun(sentence: str) -> None:
    """Write the reason of a failure where torchrun looks for it, so that its summary names it."""
    file = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if file and not Path(file).exists():
        facts = {"message": sentence, "extraInfo": {"py_callstack": "", "timestamp": str(int(time.time()))}}
        with suppress(OSError):
            Path(file).write_text(json.dumps({"message": facts}), encoding="utf-8")


def _join() -> Ranks:
    wait = _seconds()
    rank, size = number_of("RANK"), world_size()
    began = time.monotonic()
    if not _stores:
        _stores.append(_connect(timedelta(seconds=wait), host=rank == 0))
    store = _apart(_stores[0], f"call-{next(_calls)}")
    store.set(f"here/{rank}", platform.node())
    if rank == 0:
        _roll_call(store, size, began + wait)
        store.set("all here", b"yes")
    else:
        _await_all(store, rank, began + wait)
    return Ranks(rank, size, number_of("LOCAL_RANK", 0), store)


def _connect(wait: timedelta, host: bool) -> Any:
    """The key-value store of all ranks; torchrun holds it, or else rank 0."""
    address, port = os.environ.get("MASTER_ADDR", ""), number_of("MASTER_PORT")
    try:
        return _within(wait, lambda: TCPStore(address, port, None, host and not _held(), wait, wait_for_workers=False))
    except (RuntimeError, ValueError) as error:
        text = str(error)
        if "EADDRINUSE" in text or "address already in use" in text.lower():
            raise RegardError(
                f"ranks: port {port} of this machine is in use by another program; choose another MASTER_PORT"
            ) from error
        raise LostRankError(
            f"ranks: rank 0 does not answer at {address}, port {port}, within {wait.total_seconds():.0f} s; "
            "is it started, and can this machine reach it?"
        ) from error


def _held() -> bool:
    """Whether torchrun holds the store, rather than rank 0."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _within(wait: timedelta, work: Callable[[], Any]) -> Any:
    """The result of some work that may never end, such as a greeting to a program that does not understand it."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(work())
        except (RuntimeError, ValueError) as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(wait.total_seconds() + 1)
    if not found:
        raise RuntimeError("no answer")
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _apart(store: Any, what: str) -> Any:
    """The keys of one use of the store, in this start: torchrun keeps its store when it starts all ranks again."""
    return PrefixStore(f"regard/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{what}", store)


def _roll_call(store: Any, size: int, deadline: float) -> None:
    missing = list(range(size))
    while missing:
        missing = [rank for rank in missing if not store.check([f"here/{rank}"])]
        if missing and time.monotonic() > deadline:
            listed = ", ".join(map(str, missing))
            store.set("absent", listed)
            raise RegardError(
                f"ranks: of {size} ranks, {listed} did not come within {_seconds():.0f} s; start them all, "
                "or fewer, or let REGARD_WAIT be longer"
            )
        time.sleep(0.02 if missing else 0)


def _await_all(store: Any, rank: int, deadline: float) -> None:
    with lost_ranks_named():
        while not store.check(["all here"]):
            if store.check(["absent"]) or time.monotonic() > deadline + _PATIENCE:
                raise LostRankError(f"ranks: rank {rank} came, but others did not")
            time.sleep(0.02)


def _seconds() -> float:
    text = os.environ.get("REGARD_WAIT", str(_WAIT))
    try:
        return max(1.0, float(text))
    except ValueError as error:
        raise UsageError(f"REGARD_WAIT: must be a number of seconds, but is {text!r}") from error
