"""The command line as a user meets it: sentences, exit codes, and no traceback."""

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer
from typer.main import get_command

from regard.apps import cli
from regard.base.errors import RegardError

ROOT = Path(__file__).parents[2]


def run(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "regard", *arguments]
    options: dict = {"capture_output": True, "text": True, "env": environment, "timeout": 120} | settings
    return subprocess.run(command, **options)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch):
    """Make `regard draw` raise what it is told to."""

    def fail_with(error: BaseException) -> int:
        def broken(_: list[str]) -> None:
            raise error

        monkeypatch.setattr(cli, "_run", broken)
        return cli.main(["draw"])

    return fail_with


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_that_writes_a_file_takes_o_for_out(name: str) -> None:
    command = get_command(importlib.import_module(cli.COMMANDS[name][0]).app)
    parts = command.commands.values() if isinstance(command, click.Group) else [command]
    outs = [option.opts for part in parts for option in part.params if "--out" in option.opts]
    assert all("-o" in opts for opts in outs)


def test_help_lists_every_command_with_its_summary() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for name, (_, summary) in cli.COMMANDS.items():
        assert f"{name}  " in done.stdout
        assert summary in done.stdout


def test_no_arguments_show_where_you_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert "regard demo" in printed
    assert "regard --help lists all commands" in printed


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from regard.apps.cli import main; main(['--help']); main(['draw', '--help']);"
        "sys.exit(','.join({'torch', 'matplotlib', 'numpy', 'rich'} & set(sys.modules)))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stderr.strip() == ""


def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for name in cli.COMMANDS:
        assert cli.main([name, "--help"]) == 0
        assert f"Usage: regard {name}" in capsys.readouterr().out
    assert cli.main(["draw", "mask", "--help"]) == 0
    assert (
        'Examples:\n    regard draw mask causal\n    regard draw mask "causal & window(4)"' in capsys.readouterr().out
    )


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("regard")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["drw"], "regard: command: unknown 'drw' (did you mean 'draw'?); commands are: draw"),
        (["--versoin"], "regard: unknown option '--versoin' (did you mean '--version'?); see regard --help"),
        (
            ["draw", "mask", "causal", "--lenght", "3"],
            "regard: draw mask: unknown option '--lenght' (did you mean '--length'?); see regard draw mask --help",
        ),
        (["draw", "mask", "causal", "--length"], "regard: option '--length' requires an argument; see regard --help"),
        (["draw", "msk"], "regard: draw: no such command 'msk'. Did you mean 'mask'?; see regard draw --help"),
    ],
)
def test_a_slip_of_the_pen_is_one_sentence_with_the_nearest_name(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err.startswith(sentence.split("; commands are")[0])


@pytest.mark.parametrize(
    "arguments",
    [
        ["draw", "mask"],
        ["draw", "mask", "causal", "--length", "-3"],
        ["draw", "mask", "causal", "--length", "many"],
        ["draw", "mask", "causal", "extra"],
        ["draw", "normalizer"],
    ],
)
def test_wrong_use_leaves_with_2_and_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"regard: draw {arguments[1]}: ")
    assert said.err.count("\n") == 1


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["draw"]) == 2
    said = capsys.readouterr().err
    assert "Usage: regard draw" in said
    assert "normalizer" in said


def test_errors_of_ours_are_sentences_with_their_exit_code(failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(RegardError("the corpus: has\nno lines")) == 1
    assert capsys.readouterr().err == "regard: the corpus: has no lines\n"


def test_a_full_disk_is_a_sentence(failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(OSError(28, "No space left on device", "a.png")) == 1
    assert capsys.readouterr().err == "regard: a.png: no space left on device\n"


def test_an_interrupt_leaves_with_130(failing, capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "regard: interrupted\n"


def test_a_fault_of_our_own_says_so_and_how_to_see_it(
    failing, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGARD_DEBUG", raising=False)
    assert failing(ZeroDivisionError("division by zero")) == 1
    said = capsys.readouterr().err
    assert "fault of Regard's own" in said
    assert "ZeroDivisionError: division by zero" in said
    assert "REGARD_DEBUG=1" in said
    assert said.count("\n") == 1
    monkeypatch.setenv("REGARD_DEBUG", "1")
    assert failing(ZeroDivisionError("division by zero")) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 3])
def test_a_command_may_choose_its_exit_code(failing, code: int) -> None:
    assert failing(typer.Exit(code)) == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_a_failure() -> None:
    with Path("/dev/full").open("w") as full:
        done = run("--help", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == "regard: no space left on device\n"


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="needs pipes that break")
def test_a_reader_that_leaves_early_is_met_with_silence() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run("--help", capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.parametrize(("closed", "code"), [("<&-", 0), (">&-", 2), ("2>&-", 0)])
def test_closed_streams(closed: str, code: int) -> None:
    """Nothing to read, nowhere to write, nowhere to complain."""
    command = f"exec {sys.executable} -m regard settings {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert ("standard output is closed" in done.stderr) == (code == 2)
    assert "fault" not in done.stderr
