"""How much memory there is, and a sentence for what would need more."""

import os
import sys
from pathlib import Path

from regard.base.errors import ConfigError

if sys.platform != "win32":
    import resource

_UNKNOWN = 1 << 62


def available_memory() -> int:
    """The bytes that this process can still take: what the system has free, and what its limit leaves."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = dict(line.split(":", 1) for line in lines)
        free = 1024 * int(found["MemAvailable"].split()[0])
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, KeyError, ValueError):
        return _UNKNOWN  # not Linux
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return free
    return max(0, min(free, limit - pages * os.sysconf("SC_PAGE_SIZE")))


def check_memory(where: str, needed: float, cure: str) -> None:
    """Raise a ConfigError if something needs more bytes than there are."""
    if needed > (most := available_memory()):
        raise ConfigError(f"{where}: needs about {needed / 1e9:,.1f} GB, but {most / 1e9:,.1f} GB are free; {cure}")


def usable_cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
