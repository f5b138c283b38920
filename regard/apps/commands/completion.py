"""regard completion: the script that completes commands and options on the Tab key."""

from enum import StrEnum
from typing import Annotated

import typer

from regard.apps.options import examples

app = typer.Typer(add_completion=False)


class Shell(StrEnum):
    """The shells that can complete."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command(
    "completion",
    epilog=examples(
        "regard completion bash >> ~/.bashrc",
        "regard completion zsh >> ~/.zshrc",
        "regard completion fish > ~/.config/fish/completions/regard.fish",
    ),
)
def completion_command(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
    """Print the script that completes commands and options on the Tab key."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="regard", complete_var="_REGARD_COMPLETE", shell=shell.value))
