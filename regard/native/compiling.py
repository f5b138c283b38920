"""Compile the kernels once on the user's machine, with its own compiler, into the user's cache folder.

A wheel stays the same for every machine: it holds the source, and where there is no compiler, or nowhere to write,
torch computes. The name of a library has the hash of its source and flags, so that a newer version never loads an
older library. It is written under another name and renamed, so that two processes may compile at the same time.
"""

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

from regard.base.errors import RegardError
from regard.base.files import cache_folder, temporary_beside

SOURCES = tuple(sorted(Path(__file__).parent.glob("*.[ch]")))
_FLAGS = ("-O3", "-std=gnu11", "-fno-math-errno", "-fPIC", "-shared")
_SECONDS = 180
_AVX512 = ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma")
INSTRUCTION_SETS: dict[str, tuple[int, tuple[str, ...]]] = {
    "avx512vnni": (16, (*_AVX512, "-mavx512vnni")),
    "avx512": (16, _AVX512),
    "avx2": (8, ("-mavx2", "-mfma")),
    "plain": (4, ()),
}
"""for each instruction set: the floats in a vector, and the compiler's flags"""


def library_file(kind: str) -> Path:
    """Where the library of an instruction set is kept."""
    content = b"".join(source.read_bytes() for source in SOURCES) + " ".join(_command("cc", kind)).encode()
    return cache_folder() / f"kernels-{kind}-{hashlib.sha256(content).hexdigest()[:16]}.so"


def compiled(kind: str) -> Path:
    """The library of an instruction set, compiled if it is not there; an error says why it cannot be."""
    try:
        file = library_file(kind)
        if not file.exists():
            _compile(kind, file)
        return _trusted(file)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        raise RegardError(f"kernels: they cannot be compiled: {error}") from error


def _compile(kind: str, file: Path) -> None:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise RegardError("kernels: there is no C compiler")
    file.parent.mkdir(parents=True, exist_ok=True)
    new = temporary_beside(file)
    try:
        files = [str(source) for source in SOURCES if source.suffix == ".c"]
        command = [*_command(compiler, kind), *files, "-o", str(new), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        if done.returncode:
            raise RegardError(f"kernels: {compiler} cannot compile them: {done.stderr.strip()[-200:]}")
        new.chmod(0o500)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _command(compiler: str, kind: str) -> list[str]:
    lanes, flags = INSTRUCTION_SETS[kind]
    return [compiler, *_FLAGS, *flags, f"-DLANES={lanes}"]


def _trusted(file: Path) -> Path:
    """The file, unless somebody else could have written it: what is loaded runs with the user's rights."""
    about = file.stat()
    if about.st_uid != os.getuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise RegardError(f"{file}: belongs to somebody else, so it is not loaded; delete it")
    return file
