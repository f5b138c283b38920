"""regard init: look at the data and write the settings of a run."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import FileGroups, examples

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard init train.en train.de --dev dev.en dev.de",
        "regard init pairs.tsv --dev dev.tsv --model seq2seq --preset luong",
        "regard init text.txt --dev dev.txt                   one side of text: a language model",
    ),
)
def init(
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file: .tsv, .jsonl, plain text; .gz.")],
    dev: Annotated[list[Path], typer.Option("--dev", help="The validation set: text that is not trained on.")] = [],  # noqa: B006
    name: Annotated[str | None, typer.Option(help="Name of the run; by default from the languages.")] = None,
    model: Annotated[
        str | None, typer.Option(help="transformer, seq2seq, gpt, rnn_lm; by default by the data.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="A named size of the model, such as tiny or base.")] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("run.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Choose settings that suit the given files, and write them to run.toml."""
    from regard.base.errors import UsageError
    from regard.base.files import write_text
    from regard.tasks.run import run_of
    from regard.tasks.task import Wishes, advice_for

    if len(files) > 2:
        raise UsageError(f"init: give source and target, or one file, but not {len(files)} (--dev comes after them)")
    if out.exists() and not force:
        raise UsageError(f"{out}: is there already; --force writes over it, --out names another file")
    wishes = Wishes(dev=tuple(dev), name=name, model=model, preset=preset, out=out)
    advice = advice_for(files, wishes)
    run_of(tomllib.loads(advice.text), "run")  # checks the settings before the file is written
    write_text(out, advice.text)
    for reason in advice.reasons:
        typer.echo(reason)
    typer.echo(f"wrote {out}; next: regard doctor {out}, then regard train {out}")
