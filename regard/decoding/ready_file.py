"""Where a model is kept ready: its weights packed for the compiled layers, in the user's cache folder.

Such a file is made from a model file once, and used as long as the model, the kernels and the processor are the same.
It is found by the hash of the model's content, has a checksum of its own, and can be deleted at any time.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from regard.base.errors import RegardError
from regard.base.files import cache_folder, digest, write_bytes
from regard.native.compiling import INSTRUCTION_SETS, library_file
from regard.native.library import announced

LARGEST = 100_000_000
"""bytes of a model file; to hash a larger one takes as long as to load torch"""
_ENDING = ".ready.safetensors"
_MOST = 8
"""models that are kept ready; of more, those that were not used for longest are deleted"""
_DECISIVE = ("ATEN_CPU_CAPABILITY", "REGARD_NATIVE")
"""whoever sets these says how to compute"""
_MODEL = "model.safetensors"


def ready_place(model: str | Path) -> tuple[Path, str] | None:
    """Where a model file, or that of a run, is kept ready for this processor, and for which instruction set."""
    file = Path(model) / _MODEL if Path(model).is_dir() else Path(model)
    kind = next((kind for kind in INSTRUCTION_SETS if announced(kind)), None)
    if kind is None or any(os.environ.get(name) for name in _DECISIVE):
        return None
    try:
        if not file.is_file() or file.stat().st_size > LARGEST or not library_file(kind).exists():
            return None
        return cache_folder() / f"{digest(file)[:32]}-{library_file(kind).stem}{_ENDING}", kind
    except (OSError, RuntimeError, RegardError):  # what is wrong with the file is said where it is opened
        return None


def write_ready(place: Path, arrays: Sequence[np.ndarray], about: dict[str, Any]) -> None:
    """Keep a model ready; where that cannot be written, it is not."""
    text = json.dumps(about, ensure_ascii=False)
    named = {f"{at:05}": array for at, array in enumerate(arrays)}
    with suppress(OSError, RegardError):
        place.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(place, safetensors.numpy.save(named, {"about": text, "sum": _sum(arrays, text)}))
        place.chmod(0o600)
        kept = sorted(place.parent.glob(f"*{_ENDING}"), key=lambda one: -one.stat().st_mtime)
        for old in kept[_MOST:]:
            old.unlink()


def read_ready(place: Path) -> tuple[list[np.ndarray], dict[str, Any]] | None:
    """What was kept; None where there is nothing intact that is the user's own. A damaged file is deleted."""
    with suppress(OSError):
        if place.stat().st_uid != os.getuid():
            return None
        found = _intact(place)
        if found is None:
            place.unlink()  # so that it is made again
            return None
        os.utime(place)
        return found
    return None


def _intact(place: Path) -> tuple[list[np.ndarray], dict[str, Any]] | None:
    try:
        with safetensors.safe_open(place, "np") as file:
            arrays = [file.get_tensor(name) for name in sorted(file.keys())]
            texts = file.metadata() or {}
        about = json.loads(texts.get("about", "null"))
    except (SafetensorError, ValueError):
        return None
    return (arrays, about) if isinstance(about, dict) and texts.get("sum") == _sum(arrays, texts["about"]) else None


def _sum(arrays: Sequence[np.ndarray], text: str) -> str:
    made = hashlib.sha256(text.encode())
    for array in arrays:
        made.update(f"{array.shape}{array.dtype}".encode())
        made.update(np.ascontiguousarray(array).data)
    return made.hexdigest()
