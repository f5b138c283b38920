"""A folder in which a translation model and a language model were trained, once, as a new user would."""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
import torch

from regard.apps.cli import main
from tests.apps import toy
from tests.apps.running import SMALL, SMALL_LM, Done, Run, changes


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Many threads on a busy machine wait for each other more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    with one_thread():
        yield


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line here, with bytes or a text as its standard input; there is never a traceback."""
    monkeypatch.delenv("REGARD_DEBUG", raising=False)

    def call(*arguments: object, stdin: str | bytes = b"") -> Done:
        capsys.readouterr()
        given = stdin.encode() if isinstance(stdin, str) else stdin
        reading, writing = os.pipe()
        writer = Thread(target=_write, args=(writing, given))  # a pipe holds only so much
        writer.start()
        with monkeypatch.context() as here, os.fdopen(reading) as file:
            here.setattr(sys, "stdin", file)
            code = main([str(argument) for argument in arguments])
        writer.join()
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert "fault of Regard's own" not in said.err, said.err
        return Done(code, said.out, said.err)

    return call


def _write(pipe: int, given: bytes) -> None:
    """Write to a pipe, which the reader may close before everything is read."""
    with contextlib.suppress(BrokenPipeError), os.fdopen(pipe, "wb") as file:
        file.write(given)


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with text, run.toml and lm.toml, and their two runs; not to be written to."""
    folder = tmp_path_factory.mktemp("trained")
    toy.write_corpus(folder)
    commands = [
        ["init", "train.en", "train.de", "--dev", "dev.en", "dev.de"],
        ["train", "run.toml", *changes(SMALL)],
        ["init", "train.de", "--dev", "dev.de", "--name", "lm", "--out", "lm.toml"],
        ["train", "lm.toml", *changes(SMALL_LM)],
    ]
    said = io.StringIO()
    with one_thread(), contextlib.chdir(folder), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        for command in commands:
            assert main(command) == 0, said.getvalue()
    return folder


@pytest.fixture
def home(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the trained folder, which the test works in."""
    folder = tmp_path / "home"
    shutil.copytree(trained, folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing but text, which the test works in."""
    toy.write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
