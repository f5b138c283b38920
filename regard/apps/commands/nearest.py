"""regard nearest: the lines of a file that are nearest to a query in meaning."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from regard.apps.commands.embed import PoolingOption
from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        'regard nearest minilm.safetensors lines.txt "where is my card?"',
        "regard nearest minilm.safetensors lines.txt --top 3 --json < queries.txt",
    )
)
def nearest(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of an encoder.")],
    file: Annotated[Path, typer.Argument(help="The lines to search, a text or the name of a picture each.")],
    queries: Annotated[
        list[str] | None, typer.Argument(help="One or more queries; lines of standard input unless given.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many lines are printed for each query.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object for each query.")] = False,
    pooling: PoolingOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print the lines whose vectors are nearest to that of a query, each after its cosine and line number."""
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.base.files import read_lines
    from regard.decoding.vectors import nearest_rows, pooling_named, vectors_of
    from regard.loading import load

    lines = list(read_lines(file))
    asked = queries or [line.rstrip("\n") for line in sys.stdin]
    if not asked:
        raise UsageError("nearest: there is no query; give one after the file, or one a line in standard input")
    pooled = pooling_named(pooling)
    opened = vectors_of(load(model, device=device, expect=object), model)
    wanted, known = (opened.embed(side, pooling=pooled, normalize=True) for side in (asked, lines))
    places, cosines = nearest_rows(wanted, known, top)
    for query, rows, found in zip(asked, places.tolist(), cosines.tolist(), strict=True):
        hits = [
            {"line": at + 1, "cosine": round(cosine, 6), "text": lines[at]}
            for at, cosine in zip(rows, found, strict=True)
        ]
        if as_json:
            typer.echo(json.dumps({"query": query, "nearest": hits}, ensure_ascii=False))
            continue
        if len(asked) > 1:
            typer.echo(f"{query}:")
        for hit in hits:
            typer.echo(f"{hit['cosine']:.4f}\t{hit['line']}\t{hit['text']}")
