"""regard average: checkpoint averaging, the mean of several models' weights."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.display import say_next
from regard.apps.options import examples
from regard.base.wording import counted

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard average a.safetensors b.safetensors --out mean.safetensors",
        "regard average runs/en-de/snapshots/* --out mean.safetensors",
    )
)
def average(
    models: Annotated[list[Path], typer.Argument(help="Model files, run folders or snapshots of the same settings.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")],
) -> None:
    """Average the weights of models of the same settings; the mean is often better than each of them."""
    from regard.runs.artifact import save_artifact
    from regard.training.average import average_artifacts

    save_artifact(out, average_artifacts(models))
    typer.echo(f"wrote {out}, the mean of {counted(len(models), 'model')}")
    say_next(f"regard compare {out} {models[0]} --test SOURCE TARGET")
