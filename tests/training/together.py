"""Runs functions in several ranks: cheap forks of this process, in which everything is imported and warm.

The parent holds the key-value store as torchrun does, on a port that the system chooses. It opens the store only once
all ranks are forked: a fork beside a thread may inherit a lock that this thread holds, and never get it. For the same
reason it waits for threads of earlier work to end, which then give back MKL's memory.
"""

import gc
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from regard.base.errors import RegardError


class Started:
    """The ranks of one start."""

    def __init__(self, work: Callable[[], object], ranks: int, **environment: str) -> None:
        told = {
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "REGARD_WAIT": "60",
            **environment,
        }
        _let_threads_end()
        port, tell_port = os.pipe()
        self.children = [
            self._fork(work, port, told | {"RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)
        ]
        self._store = TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=60), wait_for_workers=False)
        os.write(tell_port, f"{self._store.port:5d}".encode() * ranks)
        os.close(tell_port)
        os.close(port)

    def _fork(self, work: Callable[[], object], port: int, told: dict[str, str]) -> int:
        child = os.fork()
        if child:
            return child
        code = 1
        try:
            os.environ.update({"MASTER_PORT": os.read(port, 5).decode().strip()} | told)
            returned = work()
            code = returned if isinstance(returned, int) else 0
        except RegardError as error:
            sys.stderr.write(f"rank {told['RANK']}: {error}\n")
            code = error.exit_code
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            sys.stdout.flush()
            os._exit(code)

    def codes(self) -> list[int]:
        """Wait for all; their exit codes. As torchrun does, end the others once one was killed."""
        codes = [0] * len(self.children)
        left = dict(enumerate(self.children))
        while left:
            child, status = os.wait()
            rank = next(rank for rank, own in left.items() if own == child)
            del left[rank]
            codes[rank] = os.waitstatus_to_exitcode(status)
            if codes[rank] == -signal.SIGKILL:
                for other in left.values():
                    os.kill(other, signal.SIGTERM)
        return codes


def _let_threads_end(seconds: float = 1.0) -> None:
    """Wait until this thread is alone, but no longer than so many seconds: some threads stay."""
    gc.collect()
    end, threads = time.monotonic() + seconds, Path("/proc/self/task")
    while threads.is_dir() and len(list(threads.iterdir())) > 1 and time.monotonic() < end:
        time.sleep(0.01)


def together(work: Callable[[], object], ranks: int, **environment: str) -> list[int]:
    """Run some work in every rank; the exit codes."""
    return Started(work, ranks, **environment).codes()


def warm() -> None:
    """What torch imports at an optimizer's first step is imported once."""
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.ones(1)
    torch.optim.AdamW([weight], fused=True).step()
