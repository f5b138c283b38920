"""Trials in child processes: one that faults, fails, hangs, says nothing or cannot be started harms nobody."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.base import probe, trial
from regard.base.trial import UndecidedError, survives, try_products

KINDS = ("int8", "bfloat16")
Program = Callable[[str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Lets children run this code, in a loop over the kinds, instead of the real products."""

    def write(code: str) -> None:
        file = tmp_path / "program.py"
        start = "import os, signal, sys, time\nfor kind in sys.argv[1:]:\n"
        file.write_text(start + "".join(f"    {line}\n" for line in code.splitlines()), encoding="utf-8")
        monkeypatch.setattr(trial, "PROGRAM", file)

    return write


SAY = "print(kind, 'works', flush=True)"


def test_real_products_are_tried_and_this_process_lives_on() -> None:
    assert set(try_products("DEFAULT", KINDS)) == set(KINDS)


def test_what_works_has_no_fault(program: Program) -> None:
    program(SAY)
    assert try_products("AVX2", KINDS) == {"int8": "", "bfloat16": ""}


def test_the_child_is_held_to_the_setting(program: Program) -> None:
    program("print(kind, os.environ['ONEDNN_MAX_CPU_ISA'])")
    assert try_products("AVX2", ("int8",)) == {"int8": "AVX2"}


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGILL", "SIGSEGV"])
def test_a_child_that_dies_of_one_kind_is_followed_by_one_for_the_other(program: Program, name: str) -> None:
    program(f"if kind == 'int8': os.kill(os.getpid(), signal.{name})\n{SAY}")
    found = try_products("DEFAULT", KINDS)
    assert found["int8"].startswith(f"ends the process with {name} (")
    assert found["bfloat16"] == ""


def test_both_kinds_may_die(program: Program) -> None:
    program("os.kill(os.getpid(), signal.SIGILL)")
    assert all("SIGILL" in fault for fault in try_products("DEFAULT", KINDS).values())


def test_windows_has_numbers_for_faults() -> None:
    assert trial._fault(0xC000001D, "") == "ends the process with an illegal instruction"
    assert trial._fault(0xC000001D - 2**32, "") == "ends the process with an illegal instruction"


def test_a_failure_without_harm_is_a_fault_too(program: Program) -> None:
    program("print(kind, 'fails: no such product', flush=True)")
    assert try_products("DEFAULT", ("int8",)) == {"int8": "fails: no such product"}


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "a child process failed: exit code -9"),
        ("raise ImportError('no torch here')", "a child process failed: ImportError: no torch here"),
        ("pass", "a child process failed: exit code 0"),
        ("time.sleep(60)", "a child process took more than 0.5 seconds"),
    ],
)
def test_what_tells_nothing_of_the_processor_is_no_result(
    program: Program, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    if "sleep" in code:
        monkeypatch.setattr(trial, "SECONDS", 0.5)
    program(code)
    with pytest.raises(UndecidedError, match=reason):
        try_products("DEFAULT", KINDS)


def test_no_child_can_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with pytest.raises(UndecidedError, match=r"no child process could be started: No such file"):
        try_products("DEFAULT", KINDS)
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(UndecidedError, match="does not know how to start another one"):
        try_products("DEFAULT", KINDS)


def fail() -> None:
    raise RuntimeError


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
@pytest.mark.parametrize(
    ("product", "alive"),
    [
        (lambda: None, True),
        (lambda: os.kill(os.getpid(), signal.SIGILL), False),
        (lambda: time.sleep(60), None),
        (fail, None),
    ],
)
def test_a_copy_of_the_process_tells_whether_it_would_live(
    monkeypatch: pytest.MonkeyPatch, product: Callable[[], None], alive: bool | None
) -> None:
    monkeypatch.setitem(probe.TRIALS, "int8", product)
    assert survives("int8", seconds=0.5 if alive is None else 30) is alive


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be copied")
@pytest.mark.usefixtures("int8", "bfloat16")
@pytest.mark.parametrize("kind", KINDS)
def test_real_products_are_computed_in_a_copy(kind: str) -> None:
    assert survives(kind)


def test_nothing_is_known_where_no_process_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise PermissionError

    monkeypatch.setattr(os, "fork", refuse, raising=False)
    assert survives("int8") is None
    monkeypatch.delattr(os, "fork")
    assert survives("int8") is None
