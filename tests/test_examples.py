"""The examples in the help of commands: every one of them runs, in a folder that has the files it names."""

import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import regard.data.dates
import regard.tasks.run
from regard.apps import cli
from regard.apps.server import live
from regard.data.dates import DateSettings
from regard.tasks.run import read_run
from tests.apps.conftest import one_thread
from tests.apps.workplace import furnish
from tests.interop.examples import unchecked

NOT_RUN = {"torchrun": "starts several processes; tests/tasks/test_ranked.py and test_translate.py do so"}
"""programs that an example starts with, and why it is not run here"""
SHORTER = {
    "training.steps=2000": "training.steps=3",
    "--steps 500": "--steps 1 --seeds 1",
    "--tokens 1000000 --seeds 5": "--tokens 9 --seeds 1",
    "--seconds 20": "--seconds 1",
    "regard doctor run.toml": "regard doctor run.toml --seconds 1",
    "model.preset=base": "model.preset=tiny",
    "--port 5000": "--port 0",
    "regard serve": "regard serve --port 0",
    "--draws 10": "--draws 1",
}
"""the same with smaller numbers, so that it takes no minutes, and with a port that is free"""


@dataclass(frozen=True)
class HelpExample:
    """A line of a command's help without its remark."""

    command: str
    line: str


def _examples() -> Iterator[HelpExample]:
    for name in cli.COMMANDS:
        own: Any = cli.Commands(name="regard").get_command(None, name)
        for inner in (own, *getattr(own, "commands", {}).values()):
            called = name if inner is own else f"{name} {inner.name}"
            for line in (inner.epilog or "").splitlines():
                if "regard" in line:
                    yield HelpExample(called, re.split(r"\s{3,}|  (?=translation )", line.strip())[0])


EXAMPLES = list(_examples())
RUN = [example for example in EXAMPLES if example.line.split()[0] not in NOT_RUN]


def _words(line: str) -> list[str]:
    """The words of a command line; those that the shell acts on are `|`, `<`, `>` and `>>`."""
    reading = shlex.shlex(line, posix=False, punctuation_chars="|<>")
    reading.whitespace_split, reading.commenters = True, ""
    found = []
    for word in reading:
        if word[0] in "'\"":
            found.append(word[1:-1])
        elif set(word) <= set("|<>"):
            found.append(f"\0{word}")
        else:
            path = str(Path(word).expanduser()) if word.startswith("~") else word
            found += sorted(map(str, Path().glob(path))) or [path] if "*" in path else [path]
    return found


def _streams(words: list[str]) -> tuple[list[str], str, str | None]:
    """The arguments of regard, what its standard input reads, and the file that its standard output is written to."""
    given, out = "", None
    if "\0|" in words:
        at = words.index("\0|")
        program, *texts = words[:at]
        assert program in ("echo", "ls"), program
        given, words = "\n".join(texts) + "\n", words[at + 1 :]
    arguments = []
    rest = iter(words)
    for word in rest:
        if word == "\0<":
            given = Path(next(rest)).read_text(encoding="utf-8")
        elif word.startswith("\0>"):
            out = next(rest)
        else:
            arguments.append(word)
    return arguments[1:], given, out


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all examples begin with; not to be written to."""
    place = tmp_path_factory.mktemp("furnished")
    with one_thread():
        furnish(place)
    return place


@pytest.fixture
def workplace(furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it, in which few steps are enough, and servers end as soon as they serve."""
    place = tmp_path / "work"
    shutil.copytree(furnished, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("HOME", str(place))
    serve = live.serve_on

    def serve_and_end(server: Any, held: Any) -> None:
        ready = server._ready
        server._ready = lambda: (ready(), setattr(server, "should_exit", True))
        serve(server, held)

    monkeypatch.setattr(live, "serve_on", serve_and_end)
    with one_thread():
        yield place


@pytest.mark.parametrize("example", RUN, ids=[example.line for example in RUN])
def test_an_example_runs(
    example: HelpExample, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = example.line
    if "eflomal" in line:
        pytest.importorskip("eflomal", reason="needs the package eflomal: pip install 'regard[align]'")
    for long, short in SHORTER.items():
        line = line if short in line else line.replace(long, short)
    if "regard-demo" in line:
        shutil.copytree("runs/en-de", "regard-demo/runs/dates")
    if example.command == "demo":
        few = ("training.steps=2", "training.validate_every=2")
        dates = partial(DateSettings, languages=("de", "fr"), train=60, dev=5, test=7)
        monkeypatch.setattr(regard.data.dates, "DateSettings", dates)
        monkeypatch.setattr(regard.tasks.run, "read_run", partial(read_run, overrides=few))
    if example.command == "init":
        Path("run.toml").unlink()
    arguments, given, out = _streams(_words(line))
    if example.command in ("import", "export") and "--out" in arguments:
        _remove(Path(arguments[arguments.index("--out") + 1]))
    Path("given").write_text(given, encoding="utf-8")
    before = _stamps()
    with ExitStack() as files:
        if "onnx" in arguments:
            files.enter_context(unchecked())
        monkeypatch.setattr(sys, "stdin", files.enter_context(Path("given").open(encoding="utf-8")))
        if out is not None:
            Path(out).parent.mkdir(parents=True, exist_ok=True)
            monkeypatch.setattr(sys, "stdout", files.enter_context(Path(out).open("w", encoding="utf-8")))
        code = cli.main(arguments)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert said.out or _stamps() != before


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def _stamps() -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in Path().rglob("*")}


def test_every_command_has_an_example_of_itself() -> None:
    calls = {(example.command, line.split("regard ")[1]) for example in EXAMPLES for line in [example.line]}
    named = {called.split()[0] for called, call in calls if call.startswith(called) or call == called}
    assert named == set(cli.COMMANDS)
    assert len(RUN) > 100
    assert {example.line.split()[0] for example in EXAMPLES} - {"regard", "echo", "ls"} == set(NOT_RUN)
