import os
import shutil
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.native import compiling
from regard.native.compiling import INSTRUCTION_SETS, compiled, library_file

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "regard"


@pytest.mark.parametrize("kind", INSTRUCTION_SETS)
def test_every_instruction_set_is_compiled_once_and_kept(
    kind: str, fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.uname().machine not in ("x86_64", "AMD64") and kind != "plain":
        pytest.skip("of another processor family")
    file = compiled(kind)
    assert [path.name for path in fresh.iterdir()] == [file.name]
    monkeypatch.setenv("PATH", "/nowhere")
    assert compiled(kind) == file


def test_another_source_is_another_library(fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = library_file("plain")
    other = tmp_path / "other.c"
    other.write_text("int nothing;\n")
    monkeypatch.setattr(compiling, "SOURCES", (other,))
    assert library_file("plain") != before


def test_what_cannot_be_compiled_is_told_and_leaves_nothing(
    fresh: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "SOURCES", (tmp_path / "broken.c",))
    (tmp_path / "broken.c").write_text("not C\n")
    with pytest.raises(RegardError, match="cannot compile them: "):
        compiled("plain")
    assert list(fresh.iterdir()) == []
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RegardError, match="there is no C compiler"):
        compiled("plain")
    monkeypatch.setenv("CC", "/nowhere/cc")
    with pytest.raises(RegardError, match="they cannot be compiled: "):
        compiled("plain")


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(RegardError, match="they cannot be compiled: "):
        compiled("plain")


def test_a_library_that_others_may_write_is_not_loaded(fresh: Path) -> None:
    compiled("plain").chmod(0o722)
    with pytest.raises(RegardError, match="belongs to somebody else, so it is not loaded"):
        compiled("plain")
