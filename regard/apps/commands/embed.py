"""regard embed: a vector for each line, as a NumPy file."""

import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)
PoolingOption = Annotated[
    str | None,
    typer.Option("--pooling", help="mean, first (the class token) or max; by default as the model was trained."),
]
NormalizeOption = Annotated[
    bool | None,
    typer.Option("--normalize/--no-normalize", help="Whether vectors have length 1; by default as the model says."),
]


@app.command(
    epilog=examples(
        "regard embed minilm.safetensors < lines.txt > vectors.npy",
        "regard embed runs/reviews reviews.txt --pooling mean --normalize --out vectors.npy",
        "ls pictures/*.png | regard embed runs/digits --out vectors.npy     a model of pictures reads file names",
        "regard embed runs/cora graph-names.txt --out nodes.npy             one of graphs: a vector for each node",
    )
)
def embed(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of an encoder.")],
    file: Annotated[
        Path | None,
        typer.Argument(help="A text, or the name of a picture or graph, a line; standard input unless given."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The .npy file to write; standard output unless given.")
    ] = None,
    pooling: PoolingOption = None,
    normalize: NormalizeOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Write a vector for each line as one NumPy array, [lines, width], in float32.

    Two texts in a line, split at a tab, are read as a pair. A line that is empty has a vector, too.
    """
    use_threads(threads)
    import numpy as np

    from regard.base.errors import UsageError
    from regard.base.files import read_lines, write_bytes
    from regard.decoding.vectors import pooling_named, vectors_of
    from regard.loading import load

    if out is None and sys.stdout.isatty():
        raise UsageError("embed: vectors are no text for a terminal; write them to a file, with > or --out")
    pooled = pooling_named(pooling)
    opened = vectors_of(load(model, device=device, expect=object), model)
    lines = [line.rstrip("\n") for line in sys.stdin] if file is None else list(read_lines(file))
    if not lines:
        raise UsageError(f"{file or 'standard input'}: there is no line to embed")
    inputs = [line.split("\t") if "\t" in line else line for line in lines]
    vectors = opened.embed(inputs, pooling=pooled, normalize=normalize)
    content = io.BytesIO()
    np.save(content, vectors, allow_pickle=False)
    if out is not None:
        write_bytes(out, content.getvalue())
    else:
        sys.stdout.buffer.write(content.getvalue())
    typer.echo(f"{len(vectors):,} vectors of {vectors.shape[1]:,} numbers" + (f" in {out}" if out else ""), err=True)
