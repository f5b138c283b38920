"""The command line: which commands there are, and what happens when one fails.

A command is a file in `commands/` that holds `app`, a typer.Typer; one line in COMMANDS registers it. The file is
imported when the command is called, so that the others start fast.

A user's mistake gives one sentence on stderr, never a traceback. Exit codes: 0 success, 1 failure, 2 wrong usage,
130 interrupted.
"""

import contextlib
import importlib
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from regard.base.errors import RegardError, UsageError, unknown

COMMANDS = {
    "demo": ("regard.apps.commands.demo", "Train something small with no download, and look inside."),
    "init": ("regard.apps.commands.init", "Look at data files and write the settings of a run."),
    "doctor": ("regard.apps.commands.doctor", "Check the data of a run, and predict its time and memory."),
    "settings": ("regard.apps.commands.settings", "List the settings of a run file, with meanings and examples."),
    "train": ("regard.apps.commands.train", "Train a model, or resume its training."),
    "translate": ("regard.apps.commands.translate", "Translate lines from standard input."),
    "import": ("regard.apps.commands.importing", "Read a model folder of Hugging Face or sentence-transformers."),
    "predict": ("regard.apps.commands.predict", "Label texts with a classifier, or fill masked tokens."),
    "embed": ("regard.apps.commands.embed", "Write a vector for each line: the features of an encoder."),
    "nearest": ("regard.apps.commands.nearest", "Find the lines that are nearest to a query in meaning."),
    "probe": ("regard.apps.commands.probe", "Say how useful features are, with many labels and with few."),
    "represent": ("regard.apps.commands.represent", "Write a page on how good a model's features are, and why."),
    "generate": ("regard.apps.commands.generate", "Continue texts with a language model."),
    "next": ("regard.apps.commands.next", "Print the likeliest next words of a text, by a language model."),
    "evaluate": ("regard.apps.commands.evaluate", "Evaluate a model on a test set."),
    "compare": ("regard.apps.commands.compare", "Compare runs or settings: quality, speed, memory, parameters."),
    "align": ("regard.apps.commands.align", "Align the words of texts and their translations."),
    "heads": ("regard.apps.commands.heads", "Choose the attention heads of a model that align words."),
    "serve": ("regard.apps.commands.serve", "Serve models over HTTP, with a page to look at them."),
    "shortlist": ("regard.apps.commands.shortlist", "Learn a shortlist of likely translations, to translate faster."),
    "score": ("regard.apps.commands.score", "Print the log-probabilities of given translations."),
    "average": ("regard.apps.commands.average", "Average the weights of several models."),
    "export": ("regard.apps.commands.export", "Export a model to CTranslate2, ONNX or Hugging Face."),
    "inspect": ("regard.apps.commands.inspect", "Explain a translation on a page that opens offline."),
    "audit": ("regard.apps.commands.audit", "Try the laws of attention on anybody's attention."),
    "completion": ("regard.apps.commands.completion", "Print the script that completes commands on the Tab key."),
    "draw": ("regard.apps.commands.draw", "Draw masks, positions, normalizers or attention weights."),
}
"""name: (module, what it does)"""


COMPLETE = "_REGARD_COMPLETE"


class Commands(TyperGroup):
    """The commands of COMMANDS, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command behind a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        app: typer.Typer = importlib.import_module(COMMANDS[cmd_name][0]).app
        app.rich_markup_mode = None  # plain help takes a third of the time
        return get_command(app)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that was called, or an error that lists all commands."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UsageError(unknown("command", args[0], COMMANDS, "commands"))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in the help, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


cli = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="regard COMMAND --help shows a command's settings, with examples.",
)


def _show_version(wanted: bool) -> bool:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"regard {version('regard')}")
        except PackageNotFoundError:
            typer.echo("regard, not installed: running from its sources")
        raise typer.Exit
    return wanted


@cli.callback()
def regard(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Regard trains, runs, explains and serves attention models."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing is raised."""
    try:
        _check_streams()
        _run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except typer.Exit as leave:
        return _flushed(leave.exit_code)
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except KeyboardInterrupt:
        return _say("interrupted", 128 + signal.SIGINT)
    except BrokenPipeError:
        return _no_reader()
    except RegardError as error:
        return _say(str(error), error.exit_code, error)
    except OSError as error:
        return _say(_of_the_system(error), 1, error)
    except Exception as error:
        return _others(error)
    return 0


def _check_streams() -> None:
    """Python sets streams that were closed before it started to None: nothing is read then, and nothing said."""
    if sys.stdin is None:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115  open to the end
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        raise UsageError("standard output is closed, so there is nowhere to write; send it to a file or /dev/null")


def _run(arguments: list[str]) -> None:
    command = get_command(cli)
    if COMPLETE in os.environ:  # the shell asks what may follow
        from typer._completion_classes import completion_init

        completion_init()
        command.main(prog_name="regard", complete_var=COMPLETE)
    if not arguments:
        from regard.apps.standing import standing

        typer.echo(standing(Path.cwd()))
        return
    with command.make_context("regard", arguments) as context:
        command.invoke(context)


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _no_reader()
    except OSError as error:
        return _say(_of_the_system(error), 1)
    return code


def _no_reader() -> int:
    """The reader of our output has closed the pipe: exit silently, as other filters do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing fails when Python flushes at its end
    return 128 + 13


def _others(error: Exception) -> int:
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return _say("there is not enough memory for this; make the model, the batch or the beam smaller", 1)
    if hasattr(error, "format_message"):  # of click, which typer brings along under changing names
        message = str(error.format_message())
        if "\n" in message:  # a group without a command shows its help
            typer.echo(message, err=True)
            return 2
        return _say(_of_click(error, message), getattr(error, "exit_code", 2))
    if os.environ.get("REGARD_DEBUG"):
        traceback.print_exception(error)
    hint = "set REGARD_DEBUG=1 to see where, and please report it"
    return _say(f"this is a fault of Regard's own, not yours: {type(error).__name__}: {error} ({hint})", 1)


def _of_click(error: Any, message: str) -> str:
    """The error in the command line, with a pointer to the command's help."""
    where = getattr(error, "ctx", None)
    path = where.command_path if where is not None else "regard"
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        known = [name for part in where.command.get_params(where) for name in part.opts] if where is not None else []
        near = get_close_matches(option, known, n=1)
        message = f"unknown option '{option}'" + (f" (did you mean '{near[0]}'?)" if near else "")
    prefix = f"{path.partition(' ')[2]}: ".removeprefix(": ")
    return f"{prefix}{message[:1].lower()}{message[1:].rstrip('.')}; see {path} --help"


def _of_the_system(error: OSError) -> str:
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"{error.filename}: {reason}" if error.filename else reason


def _say(sentence: str, code: int, error: Exception | None = None) -> int:
    if "WORLD_SIZE" in os.environ and not _has_voice(sentence, error):
        return code
    with contextlib.suppress(OSError):
        typer.echo(f"regard: {' '.join(sentence.split())}", err=True)
    return code


def _has_voice(sentence: str, error: Exception | None) -> bool:
    """Whether this process, perhaps one of many ranks, is the one that prints the error."""
    from regard.base.joining import may_speak, report_to_torchrun
    from regard.base.ranks import QuietError

    if isinstance(error, QuietError) or not may_speak(error):
        return False
    report_to_torchrun(sentence)
    return True
