"""What this processor can really do: found out once in a child process, remembered, and obeyed.

Some virtual machines announce instructions, such as Intel's AMX, that end a process with SIGILL when they are used.
oneDNN, torch's library for int8 and bfloat16 products, believes the announcement. It can be held to an instruction set
that works by the environment variable ONEDNN_MAX_CPU_ISA, which it reads when it is first used:
https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html

- `hold` is called when the package is imported. It sets the variable to what is remembered; a processor that announces
  AMX and was not tried yet is held below it. No child process is started, so float32 work begins as fast as ever.
- `refusal` is asked before int8 or bfloat16 products are computed. What is not remembered is tried in a child process
  (seconds), under one instruction set after the other, from the best down to one that works.
- A variable that the user has set stays as it is; what works under it is tried all the same.
"""

import hashlib
import os
import platform
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from regard.base.errors import RegardError, UsageError
from regard.base.files import cache_folder, write_bytes
from regard.base.trial import VARIABLE, UndecidedError, survives, try_products

PRODUCTS = ("int8", "bfloat16")
_DEFAULT = "DEFAULT"
BELOW_AMX = "AVX512_CORE_FP16"
LADDER = (_DEFAULT, BELOW_AMX, "AVX512_CORE_BF16", "AVX512_CORE_VNNI", "AVX512_CORE", "AVX2", "SSE41")
"""values of the variable for x86, the best first"""

CPUINFO = Path("/proc/cpuinfo")
_OURS = "REGARD_MAX_CPU_ISA"
"""the variable's value where Regard has set it; a child process can tell it from a user's own"""
_TELLING = ("vendor_id", "model name", "cpu family", "model", "stepping", "flags", "Features", "CPU part")
"""lines of /proc/cpuinfo that make a processor another one"""

_in_time: str | None = None
"""the setting that was there before torch was imported, so that oneDNN is sure to obey it"""


@dataclass(frozen=True)
class Findings:
    """What was tried: setting → kind of product → what is wrong with it, nothing where it works.

    `doubt` says why the rest could not be tried.
    """

    tried: dict[str, dict[str, str]]
    doubt: str = ""

    @property
    def best(self) -> str | None:
        """The best setting under which all kinds work, or else one of them; None if that is not known."""
        partly = None
        for setting in _ladder():
            if setting not in self.tried:
                return None
            faults = self.tried[setting].values()
            if not any(faults):
                return setting
            if partly is None and not all(faults):
                partly = setting
        return partly or _untried()

    @property
    def setting(self) -> str:
        """The best setting, as far as that is known."""
        return self.best or _untried()


@dataclass(frozen=True)
class _Memory:
    """The cache file."""

    processor: str
    torch: str
    faults: dict[str, dict[str, str]]


def hold() -> None:
    """Set oneDNN's variable as far as that can be known without a trial; called when the package is imported."""
    _set(Findings(_remembered()).setting)


def check(kind: str, where: str) -> None:
    """Products of this kind can be computed in this process, or a UsageError says why not."""
    reason = refusal(kind)
    if reason is not None:
        raise UsageError(f"{where}: {reason}; use float32")


@cache
def refusal(kind: str) -> str | None:
    """Why products of this kind must not be computed in this process; None if they may. The first time takes seconds.

    Where nothing could be tried they may: instructions that are known to fault are held back by then.
    """
    found = findings()
    setting = found.setting
    _set(setting)
    fault = found.tried.get(setting, {}).get(kind)
    if fault:
        under = f"with {VARIABLE}={setting}, which you have set," if _own() else "whatever oneDNN is held to,"
        return f"{under} the {kind} product of this processor {fault}"
    if setting in (_DEFAULT, _in_time):
        return None
    alive = survives(kind)
    if alive or (alive is None and _own()):
        return None
    return (
        f"{kind} needs oneDNN held to {setting} on this processor, but torch has used it before regard was imported; "
        f"import regard first, or set {VARIABLE}={setting}"
    )


@cache
def findings() -> Findings:
    """What works under which setting, tried where it is not remembered."""
    tried, doubt = dict(_remembered()), ""
    for setting in _ladder():
        if setting not in tried:
            try:
                tried[setting] = try_products(setting, PRODUCTS)
            except UndecidedError as error:
                doubt = str(error)
                break
            _remember(tried)
        if not any(tried[setting].values()):
            break
    return Findings(tried, doubt)


def held() -> str | None:
    """What is held back on this processor and why, as a sentence; None if nothing is."""
    found = findings()
    if found.setting == _DEFAULT or _own():
        return None
    if found.best is None:
        return f"oneDNN is held to {found.setting}, since better instructions could not be tried: {found.doubt}"
    faults = " and ".join(f"{kind} {fault}" for kind, fault in found.tried[_DEFAULT].items() if fault)
    return f"oneDNN is held to {found.setting}, since otherwise {faults}"


def report() -> str:
    """What the processor can do, as a sentence."""
    found = findings()
    if found.setting not in found.tried:
        return f"{processor_name()}: whether int8 and bfloat16 products work could not be tried: {found.doubt}"
    faults = found.tried[found.setting]
    said = (
        [" and ".join(kind for kind in PRODUCTS if not faults[kind]) + " products work"]
        if not all(faults.values())
        else []
    )
    said += [f"the {kind} product {fault}" for kind, fault in faults.items() if fault]
    own = f" with your {VARIABLE}={found.setting}" if _own() else ""
    return f"{processor_name()}: {'; '.join(said)}{own}"


def announces_amx() -> bool:
    """Whether the processor says that it has AMX."""
    return "amx_tile" in _cpu().get("flags", "").split()


def processor_name() -> str:
    """What the processor calls itself."""
    return _cpu().get("model name") or os.environ.get("PROCESSOR_IDENTIFIER") or platform.machine() or "this processor"


def _ladder() -> tuple[str, ...]:
    """The settings to try, the best first: a user's own alone, where there is one."""
    own = _own()
    if own is not None:
        return (own,)
    return LADDER if platform.machine().lower() in ("x86_64", "amd64") else (_DEFAULT,)


def _own() -> str | None:
    """The user's own setting, if there is one."""
    for variable in (VARIABLE, "DNNL_MAX_CPU_ISA"):
        value = os.environ.get(variable)
        if value and value != os.environ.get(_OURS):
            return value.upper()
    return None


def _untried() -> str:
    """The setting as long as nothing was tried."""
    return _own() or (BELOW_AMX if announces_amx() else _DEFAULT)


def _set(setting: str) -> None:
    """Put the setting where oneDNN reads it, unless the user has put one there."""
    global _in_time
    if "torch" not in sys.modules:
        _in_time = setting
    if _own() is not None:
        return
    for variable in (VARIABLE, _OURS):
        if setting == _DEFAULT:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = setting


@cache
def _cpu() -> dict[str, str]:
    """The first processor of /proc/cpuinfo; nothing where there is no such file."""
    found: dict[str, str] = {}
    with suppress(OSError), CPUINFO.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon and found:
                break
            found[name.strip()] = value.strip()
    return found


def _torch_version() -> str:
    """torch's version, without importing it."""
    with suppress(OSError, ImportError, ValueError):
        spec = find_spec("torch")
        if spec is not None and spec.origin is not None:
            text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
            found = re.search(r"__version__ = ['\"](.+)['\"]", text)
            return found[1] if found else ""
    return ""


def _memory_file() -> Path:
    """The cache file for this processor and kernel, this torch and its own choice of instructions."""
    told = [f"{name}: {_cpu().get(name, '')}" for name in _TELLING]
    told += [platform.machine(), platform.release(), processor_name(), _torch_version()]
    told += [os.environ.get("ATEN_CPU_CAPABILITY", "")]
    key = hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]
    return cache_folder() / f"processor-{key}.json"


def _remembered() -> dict[str, dict[str, str]]:
    """What was tried before; nothing if that is unreadable."""
    with suppress(OSError, RuntimeError, msgspec.MsgspecError):
        memory = msgspec.json.decode(_memory_file().read_bytes(), type=_Memory)
        return {setting: found for setting, found in memory.faults.items() if set(found) == set(PRODUCTS)}
    return {}


def _remember(tried: dict[str, dict[str, str]]) -> None:
    """Keep what was found for other processes, if there is a place for it."""
    memory = _Memory(processor_name(), _torch_version(), _remembered() | tried)
    with suppress(OSError, RuntimeError, RegardError):
        file = _memory_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, msgspec.json.format(msgspec.json.encode(memory)) + b"\n")
