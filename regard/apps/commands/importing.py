"""regard import: a model folder of Hugging Face, or a model of its hub, as one model file."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import examples

app = typer.Typer(add_completion=False)


@app.command(
    name="import",
    epilog=examples(
        "regard import bert-base-uncased --out bert.safetensors      a folder or, if there is none, a model of the hub",
        "regard import all-MiniLM-L6-v2 --out minilm.safetensors     a folder of sentence-transformers",
        "regard predict bert.safetensors < lines-with-a-mask.txt",
        "regard export bert.safetensors --to huggingface --out bert-again",
    ),
)
def import_(
    folder: Annotated[
        Path,
        typer.Argument(
            help="A folder with config.json, model.safetensors and tokenizer.json, or a name on the Hugging Face hub."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The model file; by default named after the folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    revision: Annotated[str | None, typer.Option(help="A branch, tag or commit of the hub's model.")] = None,
) -> None:
    """Write a Hugging Face folder as one model file: BERT, RoBERTa, DistilBERT, GPT-2, LLaMA, Qwen2, T5, Marian …

    A folder of sentence-transformers is read with its pooling and normalization; regard embed gives its vectors.
    A setting that Regard does not have is refused by its name. Only safetensors are read.
    """
    from regard.base.errors import UsageError
    from regard.interop.hub import local_folder
    from regard.interop.huggingface import import_folder

    place = Path(f"{folder.resolve().name}.safetensors") if out is None else out
    if place.exists() and not force:
        raise UsageError(f"{place}: is there already; --force writes over it, --out names another file")
    made = import_folder(local_folder(folder, revision), place)
    for note in made.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"wrote {place}: {made.family}, {made.weights:,} weights, for the task {made.task}")
