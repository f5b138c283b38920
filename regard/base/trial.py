"""Tests of matrix products that may crash, run in a child process."""

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
"""the variable that limits oneDNN to an instruction set; read when oneDNN is first used"""

PROGRAM = Path(__file__).with_name("probe.py")
SECONDS = 120.0
"""timeout of a child process; most of its time goes into importing torch"""

_FAULTS = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")
"""signals of a crash; other signals come from outside and say nothing about the processor"""
_WINDOWS_FAULTS = {0xC000001D: "an illegal instruction", 0xC0000005: "an access violation"}


class UndecidedError(RegardError):
    """A test gave no result, for a reason unrelated to the processor."""


def try_products(setting: str, kinds: tuple[str, ...]) -> dict[str, str]:
    """Test each kind of product with oneDNN limited to the setting: kind → fault, empty where it works."""
    found: dict[str, str] = {}
    while left := [kind for kind in kinds if kind not in found]:
        found |= _ask(setting, left)
    return found


def _ask(setting: str, kinds: list[str]) -> dict[str, str]:
    """The results of one child process, up to the first kind that crashed it."""
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
    """Describe the crash that ended a process."""
    if code & 0xFFFFFFFF in _WINDOWS_FAULTS:
        return f"ends the process with {_WINDOWS_FAULTS[code & 0xFFFFFFFF]}"
    for name in _FAULTS:
        if code < 0 and code == -getattr(signal, name, 0):
            return f"ends the process with {name} ({(signal.strsignal(-code) or name).lower()})"
    last = said.strip().rpartition("\n")[2] or f"exit code {code}"
    raise UndecidedError(f"a child process failed: {last}")


def survives(kind: str, seconds: float = 30.0) -> bool | None:
    """Whether the kind of product works in this process, tested in a fork of it; None if unknown.

    Once oneDNN has been used, it no longer reads its variable and does not tell what it has read. A fork of the process
    has the same oneDNN; it computes with one thread, since fork does not copy the others.
    """
    if not hasattr(os, "fork"):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about forking a process that has threads
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
    """The exit code of a child process, negative if a signal ended it; None on a timeout."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
