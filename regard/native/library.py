"""The compiled library for one instruction set: its functions, with their types. What calls them needs no torch."""

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np

from regard.base.errors import RegardError
from regard.native.compiling import INSTRUCTION_SETS, compiled

_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_int64
_PROCESSOR = Path("/proc/cpuinfo")


class Library:
    """The functions of all C files; callers check the sizes of what they hand over."""

    def __init__(self, kind: str) -> None:
        self.kind, self.lanes = kind, INSTRUCTION_SETS[kind][0]
        try:
            self.library = ctypes.CDLL(str(compiled(kind)))
            _declare(self.library)
        except (OSError, AttributeError) as error:
            raise RegardError(f"kernels: the library cannot be loaded: {error}") from error


def address(array: np.ndarray) -> int:
    """Where the numbers of an array are."""
    found: int = array.__array_interface__["data"][0]
    return found


def announced(kind: str) -> bool:
    """Whether the processor announces the instructions of a library; where it cannot be asked, it does not."""
    try:
        flags = re.search(r"^flags\s*:(.*)$", _PROCESSOR.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return False
    wanted = {flag.removeprefix("-m") for flag in INSTRUCTION_SETS[kind][1]}
    return flags is not None and wanted <= set(flags[1].replace("_", "").split())  # avx512_vnni


def _declare(library: ctypes.CDLL) -> None:
    """The types of all functions."""
    types: dict[str, tuple[list[Any], Any]] = {
        "log_sum_exp": ([_POINTER, _COUNT, _COUNT, _POINTER], None),
        "best_of_all": ([_POINTER, _POINTER, *[_COUNT] * 4, *[_POINTER] * 4], None),
        "attend": ([*[_POINTER] * 8, *[_COUNT] * 6, ctypes.c_float, _POINTER, _POINTER], None),
        "loss_and_slopes": (
            [*(_POINTER, _COUNT, _POINTER, _POINTER, _COUNT, _COUNT, ctypes.c_float, _COUNT), *[_POINTER] * 4],
            _COUNT,
        ),
        "space_to_read": ([_POINTER], _COUNT),
        "read_forward": ([_POINTER], None),
        "read_backward": ([_POINTER], None),
        "drop": ([_POINTER, _COUNT, _POINTER, _COUNT, _COUNT, ctypes.c_float, _POINTER], None),
        "pair_step": ([_POINTER], _COUNT),
        "space_for": ([_POINTER, _COUNT, _COUNT], _COUNT),
        "fingerprint": ([_POINTER, _POINTER, _COUNT], ctypes.c_uint64),
        "encode": (
            [_POINTER, _COUNT, _POINTER, _COUNT, _COUNT, _POINTER, _POINTER, _COUNT, *[_POINTER] * 4],
            _COUNT,
        ),
        "remember": ([_POINTER, _POINTER, _COUNT, _POINTER], None),
        "decode": (
            [
                *(_POINTER, _POINTER, _COUNT, _COUNT, *[_POINTER] * 3, _COUNT, _POINTER, _COUNT),
                *(_POINTER, _COUNT, _POINTER, _POINTER, _COUNT, _POINTER, _POINTER),
            ],
            None,
        ),
        "prefill": (
            [_POINTER, _POINTER, _COUNT, _COUNT, _POINTER, _COUNT, _POINTER, _POINTER, _COUNT, _POINTER, _COUNT]
            + [_POINTER] * 3,
            None,
        ),
        "block_for": ([_POINTER, _COUNT], _COUNT),
        "best_words": (
            [*[_POINTER] * 3, _COUNT, _COUNT, _POINTER, _COUNT, _POINTER, _COUNT, _COUNT, *[_POINTER] * 5],
            None,
        ),
        "pack_words": (
            [_POINTER, _POINTER, ctypes.c_float, _COUNT, _COUNT, _POINTER, _COUNT, _COUNT, _POINTER, _COUNT]
            + [_POINTER] * 3,
            None,
        ),
        "begin": ([_POINTER, _COUNT], None),
        "walk": ([_POINTER, _COUNT], None),
    }
    for name, (given, made) in types.items():
        function = getattr(library, name)
        function.argtypes, function.restype = given, made
