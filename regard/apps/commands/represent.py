"""regard represent: a page on how good a model's features are, and why."""

import json
from pathlib import Path
from typing import Annotated

import typer

from regard.apps.commands.embed import PoolingOption
from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)


@app.command(
    "represent",
    epilog=examples(
        "regard represent minilm.safetensors train.tsv --out report.html",
        "regard represent minilm.safetensors train.tsv --beside runs/bert --beside vectors.npy",
        "regard represent runs/vae sprites.npz                 arrays with known factors: disentanglement",
    ),
)
def represent_command(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of an encoder, or vectors as .npy.")],
    data: Annotated[Path, typer.Argument(help="Labels and texts (.tsv, .jsonl), arrays (.npz), or folders of files.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page; its numbers go beside it, as .json.")] = Path(
        "report.html"
    ),
    beside: Annotated[
        list[Path] | None, typer.Option(help="Another model, or vectors, beside the first; may be repeated.")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="The label of each line, if the data is lines alone.")] = None,
    shots: Annotated[
        list[int] | None, typer.Option(min=1, help="Examples of each class, may be repeated; by default 1 to 16.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="How often few examples are drawn.")] = 5,
    sample: Annotated[int, typer.Option(min=4, help="The most examples for maps, clusters and geometry.")] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed of draws and random weights.")] = 1,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Beside it, raw input and random weights.")
    ] = True,
    pooling: PoolingOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Write a page that opens offline: what the features are good for, how they cluster, which layer knows what.

    Also how evenly they fill their space, how sparse they are, what lies between two examples and, where the factors of
    the data are known, whether they are disentangled.
    """
    use_threads(threads)
    from regard.base.files import write_text
    from regard.decoding.vectors import pooling_named
    from regard.inspection.representation.report_page import report_page
    from regard.representation.representing import represent

    report = represent(
        [model, *(beside or [])],
        data,
        labels=labels,
        pooling=pooling_named(pooling),
        shots=shots or None,
        draws=draws,
        sample=sample,
        seed=seed,
        baselines=baselines,
        device=device,
        say=lambda text: typer.echo(f"{text} …", err=True),
    )
    numbers = out.with_suffix(".json")
    write_text(out, report_page(report))
    write_text(numbers, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    for sentence in report["findings"]:
        typer.echo(sentence)
    typer.echo(f"wrote {out} and {numbers}")
