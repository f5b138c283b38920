"""What a processor can do is tried once, remembered and obeyed; made-up processors fault where they are told to."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.base import processor, trial
from regard.base.errors import UsageError
from regard.base.processor import BELOW_AMX, LADDER

VARIABLE = "ONEDNN_MAX_CPU_ISA"
INTEL = (
    "processor\t: 0\nmodel name\t: Some Xeon\nflags\t\t: fpu avx2 avx512f {}\n\nprocessor\t: 1\nmodel name\t: Other\n"
)
PROGRAM = """
import os, signal, sys
setting = os.environ["ONEDNN_MAX_CPU_ISA"]
with open({log!r}, "a") as log:
    log.write(setting + "\\n")
faults = {faults!r}
for kind in sys.argv[1:]:
    if setting in faults.get(kind, ()):
        os.kill(os.getpid(), signal.SIGILL)
    print(kind, "works", flush=True)
"""


class Machine:
    """A made-up processor; `children` are the settings under which products were tried."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch, self.log = folder, monkeypatch, folder / "log"
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        monkeypatch.setattr(platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(processor, "CPUINFO", folder / "cpuinfo")
        monkeypatch.setattr(trial, "PROGRAM", folder / "program.py")
        for variable in (VARIABLE, "DNNL_MAX_CPU_ISA", "REGARD_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
            monkeypatch.setenv(variable, "")
            monkeypatch.delenv(variable)
        self.make()

    def make(self, flags: str = "amx_tile", **faults: tuple[str, ...]) -> None:
        """A processor with these flags and with kinds of products that fault under these settings."""
        (self.folder / "cpuinfo").write_text(INTEL.format(flags), encoding="utf-8")
        text = PROGRAM.format(log=str(self.log), faults=faults)
        (self.folder / "program.py").write_text(text, encoding="utf-8")
        self.restart()

    def restart(self, *, torch_first: bool = False) -> None:
        """As a new process begins; torch is imported before or after the package."""
        with self.monkeypatch.context() as change:
            change.setattr(processor, "_in_time", None)
            for remembered in (processor._cpu, processor.findings, processor.refusal):
                remembered.cache_clear()
            if not torch_first:
                change.delitem(sys.modules, "torch")
            processor.hold()
            in_time = processor._in_time
        processor._in_time = in_time

    @property
    def held(self) -> str | None:
        return os.environ.get(VARIABLE)

    @property
    def children(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").split() if self.log.exists() else []

    @property
    def file(self) -> Path:
        return processor._memory_file()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    before = processor._in_time
    yield Machine(tmp_path, monkeypatch)
    processor._in_time = before
    for remembered in (processor._cpu, processor.findings, processor.refusal):
        remembered.cache_clear()


def test_nothing_is_tried_and_nothing_held_at_the_start_without_amx(machine: Machine) -> None:
    machine.make("avx512_vnni")
    assert (machine.held, machine.children) == (None, [])


def test_amx_is_held_back_at_the_start_until_it_was_tried(machine: Machine) -> None:
    assert (machine.held, machine.children) == (BELOW_AMX, [])
    assert processor.refusal("int8") is None
    assert (machine.held, machine.children) == (None, ["DEFAULT"])
    machine.restart()
    assert machine.held is None


def test_after_a_fault_the_best_instructions_that_work_are_used(machine: Machine) -> None:
    machine.make(int8=LADDER[:3], bfloat16=LADDER[:2])
    assert processor.refusal("int8") is None
    assert processor.refusal("bfloat16") is None
    assert machine.held == LADDER[3]
    assert list(dict.fromkeys(machine.children)) == list(LADDER[:4])
    fault = "ends the process with SIGILL (illegal instruction)"
    assert processor.held() == f"oneDNN is held to AVX512_CORE_VNNI, since otherwise int8 {fault} and bfloat16 {fault}"
    assert processor.report() == "Some Xeon: int8 and bfloat16 products work"


def test_what_was_found_is_remembered(machine: Machine) -> None:
    machine.make(int8=LADDER[:2], bfloat16=LADDER[:2])
    processor.findings()
    children = machine.children
    machine.restart()
    assert machine.held == LADDER[2]
    assert processor.refusal("int8") is None
    assert machine.children == children
    kept = json.loads(machine.file.read_text(encoding="utf-8"))
    assert kept["processor"] == "Some Xeon"
    assert kept["torch"] == processor._torch_version() != ""
    assert kept["faults"][LADDER[2]] == {"int8": "", "bfloat16": ""}


def test_another_processor_or_torch_is_tried_anew(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {machine.file}
    machine.make("amx_tile amx_int8")
    files.add(machine.file)
    monkeypatch.setattr(processor, "_torch_version", lambda: "9.9")
    files.add(machine.file)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    files.add(machine.file)
    monkeypatch.setattr(platform, "release", lambda: "another kernel")
    files.add(machine.file)
    assert len(files) == 5


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"\xff\xfe", b"[]", b'{"processor": "", "torch": "", "faults": {"DEFAULT": {"int8": ""}}}']
)
def test_a_damaged_memory_is_made_again(machine: Machine, damage: bytes) -> None:
    machine.make("avx2")
    processor.findings()
    machine.file.write_bytes(damage)
    machine.restart()
    assert processor.refusal("int8") is None
    assert machine.children == ["DEFAULT", "DEFAULT"]
    assert json.loads(machine.file.read_bytes())["faults"] == {"DEFAULT": {"int8": "", "bfloat16": ""}}


def test_without_a_place_for_it_nothing_is_remembered(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.folder / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.folder / "a file"))
    for _ in range(2):
        machine.restart()
        assert processor.refusal("int8") is None
    assert machine.children == ["DEFAULT", "DEFAULT"]


def test_a_kind_that_never_works_is_refused_and_the_other_is_not(machine: Machine) -> None:
    machine.make(int8=LADDER)
    reason = "whatever oneDNN is held to, the int8 product of this processor ends the process with SIGILL"
    assert reason in (processor.refusal("int8") or "")
    assert processor.refusal("bfloat16") is None
    assert machine.held is None
    assert processor.report().startswith(
        "Some Xeon: bfloat16 products work; the int8 product ends the process with SIG"
    )
    with pytest.raises(UsageError, match=r"--precision: whatever .*SIGILL \(illegal instruction\); use float32"):
        processor.check("int8", "--precision")
    processor.check("bfloat16", "training.precision")


def test_nothing_works_at_all(machine: Machine) -> None:
    machine.make(int8=LADDER, bfloat16=LADDER)
    assert "SIGILL" in (processor.refusal("int8") or "")
    assert "SIGILL" in (processor.refusal("bfloat16") or "")
    assert machine.held == BELOW_AMX
    assert "products work" not in processor.report()


def test_a_users_own_setting_stays_and_is_tried(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.make(int8=("DEFAULT", "AVX512_CORE"))
    monkeypatch.setenv(VARIABLE, "avx512_core")
    machine.restart()
    refusal = processor.refusal("int8") or ""
    assert refusal.startswith("with ONEDNN_MAX_CPU_ISA=AVX512_CORE, which you have set, the int8 product")
    assert processor.refusal("bfloat16") is None
    assert machine.held == "avx512_core"
    assert set(machine.children) == {"AVX512_CORE"}
    assert processor.held() is None
    assert processor.report().endswith(" with your ONEDNN_MAX_CPU_ISA=AVX512_CORE")
    monkeypatch.delenv(VARIABLE)
    machine.restart()
    assert processor.refusal("int8") is None
    assert machine.held == BELOW_AMX


def test_a_child_process_knows_that_its_user_has_set_nothing(machine: Machine) -> None:
    assert machine.held == BELOW_AMX
    machine.restart()  # with the variable of the process before it
    processor.refusal("int8")
    assert machine.held is None


@pytest.mark.parametrize("flags", ["amx_tile", "avx2"])
def test_where_nothing_can_be_tried_known_faults_are_held_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, flags: str
) -> None:
    machine.make(flags)
    monkeypatch.setattr(sys, "executable", "")
    assert processor.refusal("int8") is None
    assert processor.report() == (
        "Some Xeon: whether int8 and bfloat16 products work could not be tried: "
        "this Python does not know how to start another one"
    )
    if flags == "amx_tile":
        assert machine.held == BELOW_AMX
        assert (processor.held() or "").startswith(f"oneDNN is held to {BELOW_AMX}, since better instructions could no")
    else:
        assert machine.held is None
        assert processor.held() is None
    assert not machine.file.exists()


def test_a_child_that_hangs_is_ended_and_nothing_is_remembered(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.folder / "program.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    monkeypatch.setattr(trial, "SECONDS", 0.3)
    assert processor.refusal("int8") is None
    assert machine.held == BELOW_AMX
    assert "took more than 0.3 seconds" in processor.report()
    assert not machine.file.exists()


@pytest.mark.parametrize(("alive", "refused"), [(True, False), (False, True), (None, True)])
def test_where_torch_came_first_a_copy_of_the_process_decides(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, alive: bool | None, refused: bool
) -> None:
    machine.make(int8=("DEFAULT",))
    processor.findings()
    machine.restart(torch_first=True)
    monkeypatch.setattr(processor, "survives", lambda kind: alive)
    reason = processor.refusal("int8")
    assert (reason is not None) is refused
    if reason is not None:
        assert reason.endswith(f"import regard first, or set ONEDNN_MAX_CPU_ISA={BELOW_AMX}")


def test_a_users_own_setting_is_believed_where_no_copy_can_be_made(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "AVX2")
    machine.restart(torch_first=True)
    monkeypatch.setattr(processor, "survives", lambda kind: None)
    assert processor.refusal("int8") is None


def test_other_processors_have_no_ladder(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(processor, "CPUINFO", machine.folder / "missing")
    machine.restart()
    assert machine.held is None
    assert processor.refusal("int8") is None
    assert machine.children == ["DEFAULT"]
    assert processor.report() == "arm64: int8 and bfloat16 products work"


OBEYED = """
import os, sys
from pathlib import Path
import regard
from regard.base import processor, trial
assert "torch" not in sys.modules, "the package alone must not import torch"
trial.PROGRAM = Path({program!r})
os.environ["ONEDNN_VERBOSE"] = "1"
import torch
from regard.layers.inference.int8 import Int8Linear
Int8Linear(torch.nn.Linear(64, 64))(torch.ones(2, 64))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs the instruction sets of x86")
@pytest.mark.usefixtures("int8")
def test_onednn_obeys(machine: Machine) -> None:
    machine.make(int8=LADDER[:-1])
    surroundings = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "REGARD_MAX_CPU_ISA")}
    code = OBEYED.format(program=str(trial.PROGRAM))
    done = subprocess.run([sys.executable, "-c", code], env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cpu,isa:Intel SSE4.1" in done.stdout
