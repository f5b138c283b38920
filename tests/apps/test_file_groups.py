"""Options that take one or two files."""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from regard.apps.file_groups import FileGroups

app = typer.Typer()


@app.command(cls=FileGroups)
def show(
    files: Annotated[list[Path], typer.Argument()],
    dev: Annotated[list[Path], typer.Option("--dev")] = [],  # noqa: B006
    name: Annotated[str, typer.Option()] = "",
) -> None:
    typer.echo(f"{' '.join(map(str, files))}|{' '.join(map(str, dev))}|{name}")


@pytest.mark.parametrize(
    ("words", "understood"),
    [
        ("a b", "a b||"),
        ("a b --dev c d", "a b|c d|"),
        ("--dev c d a b", "a b|c d|"),
        ("a --dev c", "a|c|"),
        ("a --dev c --name x b", "a b|c|x"),
        ("a b --dev c d --name x", "a b|c d|x"),
        ("a b --dev=c", "a b|c|"),
    ],
)
def test_one_or_two_words_belong_to_the_option(words: str, understood: str) -> None:
    assert CliRunner().invoke(app, words.split()).output.strip() == understood


def test_an_option_without_its_files_is_wrong_use() -> None:
    assert CliRunner().invoke(app, ["a", "b", "--dev"]).exit_code == 2
