"""Products that may end a process, tried in a child process instead."""

import faulthandler
import os
import signal
import subprocess
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

from regard.base.errors import RegardError

VARIABLE = "ONEDNN_MAX_CPU_ISA"
"""what holds oneDNN to an instruction set; read when oneDNN is first used"""

PROGRAM = Path(__file__).with_name("probe.py")
SECONDS = 120.0
"""how long a child may take; importing torch is most of it"""

_FAULTS = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")
"""signals by which a fault ends a process; others come from outside and tell nothing"""
_WINDOWS_FAULTS = {0xC000001D: "an illegal instruction", 0xC0000005: "an access violation"}


class UndecidedError(RegardError):
    """A trial came to no result, for a reason that has nothing to do with the processor."""


def try_products(setting: str, kinds: tuple[str, ...]) -> dict[str, str]:
    """Kind of product: what is wrong with it while oneDNN is held to the setting; nothing where it works."""
    found: dict[str, str] = {}
    while left := [kind for kind in kinds if kind not in found]:
        found |= _ask(setting, left)
    return found


def _ask(setting: str, kinds: list[str]) -> dict[str, str]:
    """What one child found out, up to the first kind that ended it."""
    if not sys.executable:
        raise UndecidedError("this Python does not know how to start another one")
    command = [sys.executable, "-P", str(PROGRAM), *kinds]
    surroundings = {**os.environ, VARIABLE: setting}
    try:
        done = subprocess.run(
            command, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UndecidedError(f"a child process took more than {SECONDS:g} seconds") from None
    except OSError as error:
        raise UndecidedError(f"no child process could be started: {error.strerror or error}") from error
    found = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        kind, _, outcome = line.partition(" ")
        if kind in kinds:
            found[kind] = "" if outcome == "works" else outcome
    missing = [kind for kind in kinds if kind not in found]
    if missing:
        found[missing[0]] = _fault(done.returncode, done.stderr.decode(errors="replace"))
    return found


def _fault(code: int, said: str) -> str:
    """What a process ended with, if that was a fault."""
    if code & 0xFFFFFFFF in _WINDOWS_FAULTS:
        return f"ends the process with {_WINDOWS_FAULTS[code & 0xFFFFFFFF]}"
    for name in _FAULTS:
        if code < 0 and code == -getattr(signal, name, 0):
            return f"ends the process with {name} ({(signal.strsignal(-code) or name).lower()})"
    last = said.strip().rpartition("\n")[2] or f"exit code {code}"
    raise UndecidedError(f"a child process failed: {last}")


def survives(kind: str, seconds: float = 30.0) -> bool | None:
    """Whether the kind of product works in this very process, as far as a copy of it tells; None if that is unknown.

    Once oneDNN has been used it no longer reads its variable, and it does not say what it has read. A copy of the
    process, made by fork, has the same oneDNN; it computes with one thread, since others are not copied.
    """
    if not hasattr(os, "fork"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of Python, about threads that we do not use
            child = os.fork()
    except OSError:
        return None
    if child == 0:
        _compute_and_leave(kind)
    code = _wait(child, seconds)
    if code is None or code > 0:
        return None
    return code == 0


def _compute_and_leave(kind: str) -> None:
    code = 1
    try:
        faulthandler.disable()
        import_module("torch").set_num_threads(1)
        import_module("regard.base.probe").TRIALS[kind]()
        code = 0
    finally:
        os._exit(code)


def _wait(child: int, seconds: float) -> int | None:
    """The exit code of a child, negative if a signal ended it; None if it took too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
