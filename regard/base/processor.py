"""Which instructions this processor really supports: tested once in a child process, cached, and respected.

Some virtual machines announce instructions, such as Intel's AMX, that crash a process with SIGILL when they are used.
oneDNN, torch's library for int8 and bfloat16 products, relies on the announcement. The environment variable
ONEDNN_MAX_CPU_ISA limits it to an instruction set that works; oneDNN reads it when it is first used:
https://uxlfoundation.github.io/oneDNN/dev_guide_cpu_dispatcher_control.html

- `hold` is called when the package is imported. It sets the variable to the cached result; a processor that announces
  AMX and was not tested yet is limited to less. It starts no child process, so float32 work begins without delay.
- `refusal` is called before int8 or bfloat16 products are computed. Without a cached result, a child process (seconds)
  tests one instruction set after the other, from the best down to one that works.
- A variable that the user has set stays as it is; what works under it is tested all the same.
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
"""a copy of the value that Regard has set, which tells it apart from a user's own setting"""
_TELLING = ("vendor_id", "model name", "cpu family", "model", "stepping", "flags", "Features", "CPU part")
"""lines of /proc/cpuinfo that identify a processor"""

_in_time: str | None = None
"""the setting made before torch was imported, which oneDNN is sure to read"""


@dataclass(frozen=True)
class Findings:
    """Test results: setting → kind of product → its fault, empty where it works.

    `doubt` says why the other settings could not be tested.
    """

    tried: dict[str, dict[str, str]]
    doubt: str = ""

    @property
    def best(self) -> str | None:
        """The best setting under which all kinds work, or else one of them; None if unknown."""
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
        """The best setting, or a safe one while it is unknown."""
        return self.best or _untried()


@dataclass(frozen=True)
class _Memory:
    """The content of the cache file."""

    processor: str
    torch: str
    faults: dict[str, dict[str, str]]


def hold() -> None:
    """Set oneDNN's variable from the cache, without a test; called when the package is imported."""
    _set(Findings(_remembered()).setting)


def check(kind: str, where: str) -> None:
    """Raise a UsageError if products of this kind cannot be computed in this process."""
    reason = refusal(kind)
    if reason is not None:
        raise UsageError(f"{where}: {reason}; use float32")


@cache
def refusal(kind: str) -> str | None:
    """Why products of this kind cannot be computed in this process; None if they can. The first call takes seconds.

    Where no test was possible, the answer is None: instructions that are known to crash are disabled by then.
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
    """The test results, from the cache or from new tests."""
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
    """A sentence on which instructions are disabled on this processor and why; None if none are."""
    found = findings()
    if found.setting == _DEFAULT or _own():
        return None
    if found.best is None:
        return f"oneDNN is held to {found.setting}, since better instructions could not be tried: {found.doubt}"
    faults = " and ".join(f"{kind} {fault}" for kind, fault in found.tried[_DEFAULT].items() if fault)
    return f"oneDNN is held to {found.setting}, since otherwise {faults}"


def held_below(setting: str) -> bool:
    """Whether oneDNN is held to less than a setting of the ladder, by the user or for what was found."""
    own = os.environ.get(VARIABLE) or _DEFAULT
    return own.upper() not in ("ALL", *LADDER[: LADDER.index(setting) + 1])


def report() -> str:
    """A sentence on what the processor supports."""
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
    """Whether the processor announces AMX."""
    return "amx_tile" in _words("flags")


def announces_bfloat16() -> bool:
    """Whether the processor announces products of bfloat16: AVX-512 BF16 or AMX on x86, BF16 on Arm."""
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(_words("flags") | _words("Features"))


def processor_name() -> str:
    """The processor's name."""
    return _cpu().get("model name") or os.environ.get("PROCESSOR_IDENTIFIER") or platform.machine() or "this processor"


def _ladder() -> tuple[str, ...]:
    """The settings to test, the best first; only the user's own, if there is one."""
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
    """The setting to use before any test."""
    return _own() or (BELOW_AMX if announces_amx() else _DEFAULT)


def _set(setting: str) -> None:
    """Set oneDNN's environment variable, unless the user has set it."""
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


def _words(line: str) -> set[str]:
    """The words of a line of /proc/cpuinfo."""
    return set(_cpu().get(line, "").split())


@cache
def _cpu() -> dict[str, str]:
    """The entries of the first processor in /proc/cpuinfo; empty without that file."""
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


def identity() -> str:
    """A hash of this processor, kernel, torch version and ATEN_CPU_CAPABILITY."""
    told = [f"{name}: {_cpu().get(name, '')}" for name in _TELLING]
    told += [platform.machine(), platform.release(), processor_name(), _torch_version()]
    told += [os.environ.get("ATEN_CPU_CAPABILITY", "")]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _memory_file() -> Path:
    """The cache file of the test results."""
    return cache_folder() / f"processor-{identity()}.json"


def _remembered() -> dict[str, dict[str, str]]:
    """The cached test results; empty if unreadable."""
    with suppress(OSError, RuntimeError, msgspec.MsgspecError):
        memory = msgspec.json.decode(_memory_file().read_bytes(), type=_Memory)
        return {setting: found for setting, found in memory.faults.items() if set(found) == set(PRODUCTS)}
    return {}


def _remember(tried: dict[str, dict[str, str]]) -> None:
    """Write the test results to the cache, if it is writable."""
    memory = _Memory(processor_name(), _torch_version(), _remembered() | tried)
    with suppress(OSError, RuntimeError, RegardError):
        file = _memory_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(file, msgspec.json.format(msgspec.json.encode(memory)) + b"\n")
