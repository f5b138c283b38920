"""regard probe: a linear probe of a model's features, with all labels and with few."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.commands.embed import PoolingOption
from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard probe minilm.safetensors train.tsv --test test.tsv",
        "regard probe minilm.safetensors train.tsv --shots 8 --draws 10 --json probe.json --picture probe.png",
        "regard probe minilm.safetensors lines.txt --labels labels.txt --tune",
        "regard probe vectors.npy train.tsv                    vectors that another program made",
    )
)
def probe_command(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of an encoder, or vectors as .npy.")],
    data: Annotated[Path, typer.Argument(help="Labels and texts (.tsv, .jsonl), arrays (.npz), or folders of files.")],
    test: Annotated[Path | None, typer.Option(help="Examples to test on; by default a fifth is held out.")] = None,
    labels: Annotated[Path | None, typer.Option(help="The label of each line, if the data is lines alone.")] = None,
    shots: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Examples of each class, may be repeated; by default 1 to 16."),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="How often examples are drawn.")] = 10,
    iterations: Annotated[int, typer.Option(min=1, help="The most iterations of logistic regression.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="The seed of draws and random weights.")] = 1,
    tune: Annotated[bool, typer.Option("--tune", help="Also fine-tune all weights: minutes for each point.")] = False,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Beside it, raw input and random weights.")
    ] = True,
    as_json: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the curves: .png, .svg or .pdf.")] = None,
    pooling: PoolingOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Say how well a linear classifier tells labels apart by a model's features, which stay as they are.

    With all labels the regularization is cross-validated; with few, examples of each class are drawn several times, and
    the mean accuracy stands beside its 95 % confidence interval.
    """
    use_threads(threads)
    from regard.base.files import write_text
    from regard.decoding.vectors import pooling_named
    from regard.representation.probing import probe

    vectors = model.suffix == ".npy"
    report = probe(
        model,
        data,
        test=test,
        labels=labels,
        pooling=pooling_named(pooling),
        shots=shots or None,
        draws=draws,
        iterations=iterations,
        seed=seed,
        tune=tune,
        baselines=baselines and not vectors,
        device=device,
        say=lambda text: typer.echo(f"{text} …", err=True),
    )
    if picture is not None:
        from regard.inspection.pictures.draw import save_figure
        from regard.inspection.pictures.probe_picture import probe_picture

        save_figure(probe_picture(report.to_dict()["encoders"], f"{model.name} on {data.name}"), picture)
    if as_json is not None:
        write_text(as_json, json.dumps(report.to_dict(), ensure_ascii=False, indent=2) + "\n")
    _print(report)


def _print(report: Any) -> None:
    """A table: a row for each encoder, a column for each number of shots."""
    typer.echo(
        f"{report.examples:,} examples of {len(report.classes)} classes, {report.tests:,} to test on; accuracy in %"
    )
    head = [f"{one.shots}" for one in report.encoders[0].shots]
    rows = [["examples of each class", *head, "all"]]
    for one in report.encoders:
        cells = [f"{100 * shot.mean:.1f}" + (f" ±{100 * shot.margin:.1f}" if shot.margin else "") for shot in one.shots]
        rows.append([one.name, *cells, f"{100 * one.probe.accuracy:.1f}"])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        first, *others = (cell.ljust(width) if not at else cell.rjust(width)
                          for at, (cell, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
        typer.echo("  ".join([first, *others]))
