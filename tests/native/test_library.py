"""Which libraries a processor can run, and where arrays are."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.native import compiling, library
from regard.native.library import Library, address, announced


def test_the_address_is_that_of_the_first_number() -> None:
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert address(whole) == torch.from_numpy(whole).data_ptr()
    assert address(whole[1:]) == address(whole) + 16


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="only Linux tells a processor's instructions there")
def test_the_processor_announces_what_torch_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    found = torch.backends.cpu.get_cpu_capability()
    assert announced("plain")
    assert announced("avx2") or found == "DEFAULT"
    assert announced("avx512") or found != "AVX512"


def test_where_nothing_is_announced_nothing_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "cpuinfo"
    monkeypatch.setattr(library, "_PROCESSOR", told)
    assert not announced("plain")
    told.write_text("model name : X\nflags\t\t: fpu fma avx2\n\nflags\t\t: fpu fma avx2\n")
    assert announced("avx2")
    assert not announced("avx512")


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_file_that_is_no_library_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    broken.chmod(0o500)
    monkeypatch.setattr(compiling, "library_file", lambda kind: broken)
    with pytest.raises(RegardError, match="kernels: the library cannot be loaded"):
        Library("plain")
